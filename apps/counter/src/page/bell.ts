/** Two rising tones, in hertz. */
const TONES = [784, 1175] as const;
const TONE_S = 0.18;
const LOUDNESS = 0.5;
/** A later sound would say nothing about the sale on the screen. Milliseconds. */
const LATEST_MS = 1_000;

/** The sound of a payment. Browsers permit sound only after the person has touched the page. */
export class Bell {
  #context: AudioContext | null = null;

  /** Call it when the person touches the page. */
  unlock(): void {
    void this.#open()?.resume();
  }

  /** Also tries to begin: an installed page may sound without a touch, and a device that slept has paused the sound. */
  ring(): void {
    const context = this.#open();
    if (context === null) return;
    if (context.state === 'running') return play(context);
    const wantedAt = performance.now();
    const resumed = (): void => {
      // The browser may have waited for a touch.
      if (performance.now() - wantedAt < LATEST_MS) play(context);
    };
    context.resume().then(resumed, () => undefined);
  }

  #open(): AudioContext | null {
    try {
      return (this.#context ??= new AudioContext());
    } catch {
      // The device has no sound.
      return null;
    }
  }
}

function play(context: AudioContext): void {
  TONES.forEach((hertz, at) => {
    const from = context.currentTime + at * TONE_S;
    const tone = context.createOscillator();
    const volume = context.createGain();
    tone.frequency.value = hertz;
    volume.gain.setValueAtTime(LOUDNESS, from);
    volume.gain.exponentialRampToValueAtTime(0.001, from + 2 * TONE_S);
    tone.connect(volume).connect(context.destination);
    tone.start(from);
    tone.stop(from + 2 * TONE_S);
  });
}
