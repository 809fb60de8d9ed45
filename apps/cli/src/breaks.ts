import { formatMoney, isCurrency, isOpen, type Break } from '@tillflow/domain';
import { columns, utc } from './text.js';

/** A break with the number that names it in its reconciliation. */
export type NumberedBreak = Break & { readonly n: number };

/** As the API numbers them. */
export function numbered(breaks: readonly Break[]): NumberedBreak[] {
  return breaks.map((one, index) => ({ n: index + 1, ...one }));
}

/** Two tables: the breaks that no person has acknowledged, and the others. An empty one is left out. */
export function breakTables(breaks: readonly NumberedBreak[]): string[] {
  const others = breaks.filter(({ acknowledged }) => acknowledged === undefined);
  const acknowledged = breaks.flatMap(({ acknowledged: known, ...one }) => {
    if (known === undefined) return [];
    return [[String(one.n), one.type, aboutOf(one), known.by, utc(known.at), known.reason]];
  });
  return [
    ...(others.length === 0 ? [] : openTable(others)),
    ...(acknowledged.length === 0 ? [] : columns([ACKNOWLEDGED_TITLES, ...acknowledged])),
  ];
}

/** Breaks for people, in one line: how many there are, and how many of them a person has acknowledged. */
export function countOf(breaks: readonly Break[]): string {
  const acknowledged = breaks.filter((one) => one.acknowledged !== undefined).length;
  return `open breaks: ${breaks.filter(isOpen).length}, acknowledged: ${acknowledged}`;
}

const ACKNOWLEDGED_TITLES = ['N', 'BREAK', 'ABOUT', 'ACKNOWLEDGED BY', 'AT', 'REASON'];

/** Who made a refund stands there only when a break names it. */
function openTable(breaks: readonly NumberedBreak[]): string[] {
  const namesMaker = breaks.some(({ made_by }) => made_by !== undefined);
  const rows = breaks.map((one) => [
    String(one.n),
    one.type,
    aboutOf(one),
    describeSide(one.expected),
    describeSide(one.actual),
    ...(namesMaker ? [makerOf(one)] : []),
    one.healed ? 'healed' : one.suggested_action,
  ]);
  const titles = ['N', 'BREAK', 'ABOUT', 'TILLFLOW', 'PROVIDER', ...(namesMaker ? ['MADE BY'] : []), 'TO DO'];
  return columns([titles, ...rows]);
}

function makerOf({ made_by }: Break): string {
  return made_by?.actor_uid ?? made_by?.user_uid ?? made_by?.team_uid ?? '-';
}

function aboutOf({ checkout_id, charge_id, refund_id, transaction_id, receipt_id }: Break): string {
  return checkout_id ?? charge_id ?? refund_id ?? transaction_id ?? receipt_id ?? '-';
}

function describeSide(side: Break['expected']): string {
  if (side === null) return 'nothing';
  const { status, amount, currency } = side;
  const money = isCurrency(currency) && amount >= 0 ? formatMoney({ amount, currency }) : `${amount} ${currency}`;
  return status === null ? money : `${status} ${money}`;
}
