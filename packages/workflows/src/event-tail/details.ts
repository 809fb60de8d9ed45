import type { EventTailMemo } from './memo.js';

/** As many of each are shown in the Temporal UI; the memo has the rest. */
const SHOWN = 20;

/** The tail as a person reads it in the Temporal UI. */
export function detailsOf({ pass, failing, unplaced = [], notices = [] }: EventTailMemo): string {
  const lines = [
    pass === undefined
      ? 'Nothing was read yet'
      : `Everything up to **${pass.watermark}** was delivered; last pass at ${pass.at}, every ${pass.interval_ms / 1_000} s`,
    ...(failing === null || failing === undefined
      ? []
      : [`**Failing** since ${failing.since}: ${failing.code}, ${failing.message}`]),
    ...unplaced
      .slice(-SHOWN)
      .map(
        ({ event_id, event_key, checkout_id, charge_id, why, tries, retry_at }) =>
          `**Not placed**: ${event_key} \`${event_id}\` of ${checkout_id ?? charge_id ?? 'nobody'}, ${why}; tried ${tries} times, again at ${retry_at}`,
      ),
    ...notices.slice(-SHOWN).map(({ code, since, detail }) => `**${code}** since ${since}: ${detail}`),
    ...(pass === undefined ? [] : ['Next: read on, then wait']),
  ];
  return lines.map((line) => `- ${line}`).join('\n');
}
