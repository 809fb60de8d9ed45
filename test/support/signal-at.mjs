// Preloaded into a worker: sends it a signal at one moment of one request, from inside, where no timing is involved.
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';

const wanted = JSON.parse(process.env.SIGNAL_AT ?? 'null');
const route = new RegExp(`^${wanted.route.replaceAll(/\{[^}]*\}/g, '[^/]+')}$`);
let sent = false;
subscribe(wanted.moment, ({ request }) => {
  if (sent || request.method !== wanted.method || !route.test(request.path)) return;
  sent = true;
  writeSync(1, 'signalled\n');
  process.kill(process.pid, wanted.signal);
});
