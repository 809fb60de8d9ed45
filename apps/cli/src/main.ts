import { escapeControls } from '@tillflow/telemetry';
import { run } from './program.js';

/** Shown only on a terminal: a pipe or a file gets only the result. */
const progress = (line: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`${escapeControls(line)}\n`);
};

const warn = (line: string): void => void process.stderr.write(`${line}\n`);

const { exit, out, err } = await run(process.argv.slice(2), process.env, progress, warn);
await Promise.all([written(process.stdout, out), written(process.stderr, err)]);
// A call after its deadline may still have timers for the next try, which would keep the process running.
process.exit(exit);

/** Resolves when the text was written, or when the reader has closed the pipe, as `head` does. */
function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write(text, () => resolve());
  });
}
