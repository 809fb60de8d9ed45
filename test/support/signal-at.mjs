// Preloaded into a worker: sends it a signal at one moment of one request, from inside, where no timing is involved.
import { subscribe } from 'node:diagnostics_channel';

const wanted = JSON.parse(process.env.SIGNAL_AT ?? 'null');
let sent = false;
subscribe(wanted.moment, ({ request }) => {
  if (sent || request.method !== wanted.method || request.path !== wanted.path) return;
  sent = true;
  process.kill(process.pid, wanted.signal);
});
