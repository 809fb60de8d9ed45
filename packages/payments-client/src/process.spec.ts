import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { chargeOf, provider, reply, SECRET_KEY, stall, tcpProvider } from '../test/provider.js';

const run = promisify(execFile);
const here = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Less than the ten seconds for which undici keeps a socket that does not connect. */
const KILL_AFTER_MS = 8_000;

/** A program with `client` in scope. */
const source = (baseUrl: string, body: string): string => `
  import { PaymentsClient } from ${JSON.stringify(here('../dist/index.js'))};
  const client = new PaymentsClient({ baseUrl: ${JSON.stringify(baseUrl)}, secretKey: '${SECRET_KEY}', maxRetries: 0 });
  ${body}`;

/** The program's output; fails when the program does not end on its own. */
async function program(baseUrl: string, body: string, flags: readonly string[] = []): Promise<string> {
  const code = [...flags, '--input-type=module', '-e', source(baseUrl, body)];
  const { stdout } = await run(process.execPath, code, { timeout: KILL_AFTER_MS });
  return stdout.trim();
}

const retrieve = `const done = await client.charges.retrieve('chrg_test_1').then((c) => c.id, (e) => e.outcome);`;

describe('a process that uses the client', () => {
  beforeAll(() => run(here('../../../node_modules/.bin/tsc'), ['-b', here('..')]));

  test('ends after a request, without close', async () => {
    const fake = await provider(reply(200, chargeOf(), { 'keep-alive': 'timeout=600' }));
    expect(await program(fake.baseUrl, `${retrieve} console.log(done);`)).toBe('chrg_test_1');
  });

  test('ends after a timeout in flight, without close', async () => {
    const fake = await provider(stall);
    const body = `const e = await client.charges.expire('a', { timeoutMs: 1_500 }).catch((e) => e); console.log(e.outcome);`;
    expect(await program(fake.baseUrl, body)).toBe('unknown');
  });

  test('ends after a handshake that never ended, without close', async () => {
    const fake = await tcpProvider(() => undefined);
    const body = `const e = await client.charges.expire('a', { timeoutMs: 50 }).catch((e) => e); console.log(e.outcome);`;
    expect(await program(fake.baseUrl.replace('http:', 'https:'), body)).toBe('not_sent');
  });

  test('checks replies also where eval is forbidden', async () => {
    const fake = await provider(reply(200, chargeOf()), reply(200, chargeOf({ amount: '1' })));
    const body = `${retrieve} const wrong = await client.charges.retrieve('a').catch((e) => e.code); console.log(done, wrong);`;
    expect(await program(fake.baseUrl, body, ['--disallow-code-generation-from-strings'])).toBe(
      'chrg_test_1 unexpected_response',
    );
  });

  test('does not end while a request is in flight', async () => {
    const fake = await provider(
      (response, request) => void setTimeout(() => reply(200, chargeOf())(response, request), 200),
    );
    expect(await program(fake.baseUrl, `${retrieve} console.log(done);`)).toBe('chrg_test_1');
  });

  test('has no socket left after close', async () => {
    const fake = await provider(reply(200, chargeOf()));
    const body = `${retrieve} await client.close(); await new Promise(setImmediate);
      console.log(process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length);`;
    expect(await program(fake.baseUrl, body)).toBe('0');
  });

  test.skipIf(process.platform === 'win32')(
    'sends nothing after sendBy or the deadline when it was stopped between call and write',
    async () => {
      for (const [limit, code] of [
        ['sendBy: Date.now() + 200', 'send_by_passed'],
        ['deadlineMs: 200', 'deadline_exceeded'],
      ]) {
        const fake = await provider(reply(200, chargeOf()));
        const body = `
          import { writeSync } from 'node:fs';
          const call = client.charges.expire('chrg_test_1', { ${limit} }).catch((error) => error);
          writeSync(1, 'stopping ');
          process.kill(process.pid, 'SIGSTOP');
          const error = await call;
          console.log(error.code, error.outcome);`;
        const child = spawn(process.execPath, ['--input-type=module', '-e', source(fake.baseUrl, body)], {
          timeout: KILL_AFTER_MS,
        });
        let printed = '';
        child.stdout.on('data', (text: Buffer) => {
          // The limit passes while the process is stopped.
          if (printed === '') setTimeout(() => child.kill('SIGCONT'), 600);
          printed += text.toString();
        });
        await once(child, 'close');
        expect(printed.trim()).toBe(`stopping ${code} not_sent`);
        expect(fake.seen).toEqual([]);
      }
    },
  );
});
