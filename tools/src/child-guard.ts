/**
 * Runs one command and does not let it outlive the process that asked for it, even when that process is killed with
 * SIGKILL: the channel to the parent then closes, and this guard ends its child.
 *
 * Usage, with an IPC channel: `node child-guard.js <grace ms> -- <command> [args…]`, leader of its own process group.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const [grace, separator, command, ...args] = process.argv.slice(2);
if (grace === undefined || separator !== '--' || command === undefined) {
  console.error('usage: child-guard <grace ms> -- <command> [args…]');
  process.exit(2);
}

const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });

let stopping = false;
const stop = (): void => {
  if (stopping) return;
  stopping = true;
  child.kill('SIGTERM');
  // The whole group, this process included: the child may have children of its own.
  setTimeout(() => process.kill(-process.pid, 'SIGKILL'), Number(grace));
};

process.on('disconnect', stop);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
process.on('SIGHUP', stop);
// A write to a parent that is gone must not end the guard before its child.
process.on('uncaughtException', stop);

child.once('spawn', () => {
  process.send?.({ pid: child.pid }, () => undefined);
  // The parent may have died before the listener above was there.
  if (!process.connected) stop();
});
child.once('error', (error) => {
  console.error(`cannot start ${command}: ${error.message}`);
  process.exit(127);
});
child.once('exit', (code, signal) => process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
