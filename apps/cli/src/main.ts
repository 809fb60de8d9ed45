import { escapeControls } from '@tillflow/telemetry';
import { run } from './program.js';

/** Only for a person who watches: what is piped somewhere gets the outcome alone. */
const progress = (line: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`${escapeControls(line)}\n`);
};

const warn = (line: string): void => void process.stderr.write(`${line}\n`);

const { exit, out, err } = await run(process.argv.slice(2), process.env, progress, warn);
await Promise.all([written(process.stdout, out), written(process.stderr, err)]);
// A call that was given up may still be waiting to try again.
process.exit(exit);

/** Until it has left, or whoever reads has seen enough, as `head` has. */
function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write(text, () => resolve());
  });
}
