// Preloaded into a process whose clock is to be off: by CLOCK_SHIFT_MS.
const shift = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
const now = Date.now.bind(Date);
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...parts) {
    super(...(parts.length === 0 ? [now() + shift] : parts));
  }

  static now() {
    return now() + shift;
  }
};
