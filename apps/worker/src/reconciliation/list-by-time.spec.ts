import { formatInstant, instant, parseInstant } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import { listByTime } from './list-by-time.js';

type Row = { readonly id: string; readonly created_at: string };

const START = Date.parse('2026-11-20T00:00:00Z');
const at = (milliseconds: number) => instant(START + milliseconds);

/** A list of the provider that records its requests. */
function listOf(rows: readonly Row[]) {
  const asked: string[] = [];
  let longest = 0;
  const list = async function* ({ from, to }: { readonly from: string; readonly to: string }) {
    asked.push(from);
    let read = 0;
    for (const row of rows) {
      if (row.created_at < from || row.created_at > to) continue;
      read += 1;
      longest = Math.max(longest, read);
      yield await Promise.resolve(row);
    }
  };
  return { list, asked, longest: () => longest };
}

const rowsEvery = (milliseconds: number, count: number): Row[] =>
  Array.from({ length: count }, (_, n) => ({ id: `r${n}`, created_at: formatInstant(at(n * milliseconds)) }));

async function idsOf(rows: AsyncIterable<Row>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of rows) ids.push(id);
  return ids;
}

describe('listByTime', () => {
  it.each([
    ['apart', 700],
    ['many in a second', 3],
    ['all at once', 0],
  ])('reads records that are %s apart to the end, each once, in order', async (_, milliseconds) => {
    const rows = rowsEvery(milliseconds, 5_500);
    const { list } = listOf(rows);
    expect(await idsOf(listByTime(list, at(0), at(86_400_000)))).toEqual(rows.map(({ id }) => id));
  });

  it('requests the list again from the time it has reached, so that offsets stay small', async () => {
    const { list, asked, longest } = listOf(rowsEvery(100, 10_000));
    await idsOf(listByTime(list, at(0), at(86_400_000)));
    expect(longest()).toBeLessThan(1_100);
    expect(asked.length).toBeGreaterThan(9);
    expect(asked.map((from) => parseInstant(from)).toSorted((a, b) => a - b)).toEqual(
      asked.map((from) => parseInstant(from)),
    );
  });

  it('ends at the upper bound', async () => {
    const { list } = listOf(rowsEvery(1_000, 100));
    expect(await idsOf(listByTime(list, at(10_000), at(12_000)))).toEqual(['r10', 'r11', 'r12']);
  });
});
