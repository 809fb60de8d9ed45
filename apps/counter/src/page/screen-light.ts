/** Keeps the screen of the device on while a sale is open. Where the browser cannot, the device's own rule holds. */
export class ScreenLight {
  #isWanted = false;
  #lock: Promise<{ release(): Promise<void> } | undefined> | null = null;

  constructor() {
    // The browser turns it off while the page is hidden.
    document.addEventListener('visibilitychange', () => {
      this.#lock = null;
      this.keepOn(this.#isWanted);
    });
  }

  keepOn(isWanted: boolean): void {
    this.#isWanted = isWanted;
    if (isWanted && this.#lock === null && document.visibilityState === 'visible') {
      this.#lock = Promise.resolve(navigator.wakeLock?.request('screen')).catch(() => undefined);
    } else if (!isWanted && this.#lock !== null) {
      void this.#lock.then((lock) => lock?.release());
      this.#lock = null;
    }
  }
}
