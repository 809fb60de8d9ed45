/**
 * Runs one command and ends it when the parent of this process ends, even if the parent is killed with SIGKILL: the IPC
 * channel to the parent then closes.
 *
 * Usage: `node child-supervisor.js <grace ms> -- <command> [args…]`, with an IPC channel, as leader of a process group.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const [grace, separator, command, ...args] = process.argv.slice(2);
if (grace === undefined || separator !== '--' || command === undefined) {
  console.error('usage: child-supervisor <grace ms> -- <command> [args…]');
  process.exit(2);
}

const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });

let stopping = false;
const stop = (): void => {
  if (stopping) return;
  stopping = true;
  child.kill('SIGTERM');
  // Kills the whole group, with this process: the child may have started children.
  setTimeout(() => process.kill(-process.pid, 'SIGKILL'), Number(grace));
};

process.on('disconnect', stop);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
process.on('SIGHUP', stop);
// A failed write to a parent that has ended must not end the supervisor before its child.
process.on('uncaughtException', stop);

child.once('spawn', () => {
  process.send?.({ pid: child.pid }, () => undefined);
  // The parent may have ended before 'disconnect' had a listener.
  if (!process.connected) stop();
});
child.once('error', (error) => {
  console.error(`cannot start ${command}: ${error.message}`);
  process.exit(127);
});
child.once('exit', (code, signal) => process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
