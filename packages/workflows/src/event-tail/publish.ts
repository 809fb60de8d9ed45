import { setCurrentDetails, upsertMemo, workflowInfo } from '@temporalio/workflow';
import type { EventTailMemo } from './memo.js';
import type { Tail } from './tail.js';

/** The Temporal UI shows at most this many notices and unplaced events; the memo has all of them. */
const MAX_SHOWN = 20;

const LISTS: ReadonlySet<string> = new Set(['unplaced', 'notices', 'dismissed']);

/** Writes the memo, and the details in the Temporal UI. Writes only changed parts: the long ones rarely change. */
export function publish({ memo }: Tail): void {
  const published = workflowInfo().memo as EventTailMemo | undefined;
  setCurrentDetails(detailsOf(memo));
  const changed = Object.entries(memo).filter(
    ([name, value]) =>
      JSON.stringify(value) !== JSON.stringify(published?.[name as keyof EventTailMemo] ?? emptyPart(name)),
  );
  if (changed.length > 0) upsertMemo(Object.fromEntries(changed));
}

function emptyPart(name: string): unknown {
  return LISTS.has(name) ? [] : null;
}

function detailsOf({ pass, failing, unplaced = [], notices = [] }: EventTailMemo): string {
  const lines = [
    pass === undefined
      ? 'No pass is complete yet'
      : `Every event up to **${pass.watermark}** is delivered; last pass at ${pass.at}, every ${pass.interval_ms / 1_000} s`,
    ...(failing === null || failing === undefined
      ? []
      : [`**Failing** since ${failing.since}: ${failing.code}, ${failing.message}`]),
    ...unplaced
      .slice(-MAX_SHOWN)
      .map(
        ({ event_id, event_key, checkout_id, charge_id, why, tries, retry_at }) =>
          `**Not delivered**: ${event_key} \`${event_id}\` of ${checkout_id ?? charge_id ?? 'an unknown record'}, ${why}; tried ${tries} times, again at ${retry_at}`,
      ),
    ...notices.slice(-MAX_SHOWN).map(({ code, since, detail }) => `**${code}** since ${since}: ${detail}`),
    ...(pass === undefined ? [] : ['Next: read the following events, then wait']),
  ];
  return lines.map((line) => `- ${line}`).join('\n');
}
