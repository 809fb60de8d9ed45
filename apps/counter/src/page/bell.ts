/** Two rising tones, in hertz. */
const TONES = [784, 1175] as const;
const TONE_S = 0.18;
const LOUDNESS = 0.5;

/** The sound of a payment. Browsers permit sound only after the person has touched the page. */
export class Bell {
  #context: AudioContext | null = null;

  /** Call it when the person touches the page. */
  unlock(): void {
    this.#context ??= new AudioContext();
    void this.#context.resume();
  }

  ring(): void {
    const context = this.#context;
    if (context === null || context.state !== 'running') return;
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
}
