import { describe, expect, it } from 'vitest';
import { command, EXIT, UsageError } from './command.js';

const quiet = (): void => undefined;

const greet = command({
  name: 'greet',
  synopsis: '<name> [--loud] [--times <n>]',
  summary: 'Greets.',
  details: [],
  takes: 1,
  options: { loud: { type: 'boolean' }, times: { type: 'string' } },
  run: ({ values, positionals }) =>
    Promise.resolve({ exit: EXIT.ok, lines: [], json: { values: { ...values }, positionals } }),
});

describe('a command', () => {
  it('accepts its options in any order, and always --json', async () => {
    const { json } = await greet.run(['--times', '2', 'Somchai', '--json', '--loud'], {}, quiet, quiet);
    expect(json).toEqual({ values: { loud: true, times: '2', json: true }, positionals: ['Somchai'] });
    expect((await greet.run(['Somchai', '--times=2'], {}, quiet, quiet)).json).toMatchObject({
      values: { times: '2' },
    });
  });

  it.each([
    [['Somchai', '--quiet']],
    [['Somchai', '--loud=yes']],
    [['Somchai', '--times']],
    [[]],
    [['Somchai', 'Somsri']],
    [['Somchai', '--dry-run']],
  ])('refuses %j as a usage error', async (args) => {
    await expect(greet.run(args, {}, quiet, quiet)).rejects.toThrow(UsageError);
  });
});
