// Preloaded into a worker: sends it a signal at one moment of one call, from inside, where no timing is involved.
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';

const wanted = JSON.parse(process.env.SIGNAL_AT ?? 'null');
let sent = false;

function signal() {
  if (sent) return;
  sent = true;
  writeSync(1, 'signalled\n');
  process.kill(process.pid, wanted.signal);
}

function isHeartbeatOf(activity) {
  const { stack } = new Error();
  return stack.includes('at withHeartbeat ') && stack.includes(`at ${activity} `);
}

if (wanted.moment === 'call:begun') {
  // A call that may have an effect begins by setting its heartbeat; nothing of its request is there yet.
  const { setInterval } = globalThis;
  globalThis.setInterval = (...args) => {
    if (isHeartbeatOf(wanted.activity)) signal();
    return setInterval(...args);
  };
} else {
  const route = new RegExp(`^${wanted.route.replaceAll(/\{[^}]*\}/g, '[^/]+')}$`);
  subscribe(wanted.moment, ({ request }) => {
    if (request.method === wanted.method && route.test(request.path)) signal();
  });
}
