// Preloaded into a process whose clock is to be off: by CLOCK_SHIFT_MS. SIGUSR2 sets it right, and off by as much again.
const off = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
let shift = process.env['CLOCK_SHIFTED_LATER'] === 'true' ? 0 : off;
process.on('SIGUSR2', () => {
  shift = off - shift;
});
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
