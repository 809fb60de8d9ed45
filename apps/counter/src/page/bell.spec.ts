import { afterEach, describe, expect, it, vi } from 'vitest';
import { Bell } from './bell.js';

afterEach(() => void vi.unstubAllGlobals());

/** Counts the tones. @param mayResume whether the browser permits sound without a touch */
function stubSound(mayResume: boolean) {
  const sound = { tones: 0 };
  const node = {
    connect: () => node,
    frequency: {},
    gain: { setValueAtTime: () => undefined, exponentialRampToValueAtTime: () => undefined },
  };
  vi.stubGlobal(
    'AudioContext',
    class {
      state = 'suspended';
      currentTime = 0;
      destination = {};
      resume(): Promise<void> {
        if (!mayResume) return new Promise(() => undefined);
        this.state = 'running';
        return Promise.resolve();
      }
      createGain = () => node;
      createOscillator = () => ({ ...node, start: () => (sound.tones += 1), stop: () => undefined });
    },
  );
  return sound;
}

describe('the bell', () => {
  it('sounds at once after a touch', () => {
    const sound = stubSound(true);
    const bell = new Bell();
    bell.unlock();
    bell.ring();
    expect(sound.tones).toBe(2);
  });

  it('sounds without a touch where the browser permits it', async () => {
    const sound = stubSound(true);
    new Bell().ring();
    await vi.waitFor(() => expect(sound.tones).toBe(2));
  });

  it('stays silent where the browser does not permit it, or has no sound', () => {
    const sound = stubSound(false);
    new Bell().ring();
    vi.stubGlobal('AudioContext', undefined);
    expect(() => new Bell().ring()).not.toThrow();
    expect(sound.tones).toBe(0);
  });
});
