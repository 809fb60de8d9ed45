import { STATUS_NAMES, type Payload } from './protocol.js';
import type { Run } from './run.js';

/** What a search finds of a run: its state when the search was last brought up to date. */
export type Entry = {
  readonly run: Run;
  readonly status: Run['status'];
  readonly memo: Record<string, Payload>;
  readonly searchAttributes: Record<string, Payload>;
};

type Value = string | number | readonly string[] | null;
type Condition = (entry: Entry) => boolean;

const TOKEN = /\s*(\(|\)|,|>=|<=|!=|=|<|>|'(?:[^']|'')*'|[A-Za-z0-9_.]+)/gy;
const decoder = new TextDecoder();

/** Reads the searches that Tillflow makes. @throws for any other, so that no search is misunderstood. */
export function parseQuery(query: string): Condition {
  const tokens = [...query.matchAll(TOKEN)].map(([, token = '']) => token);
  if (tokens.join('').length !== query.replaceAll(/\s+(?=(?:[^']*'[^']*')*[^']*$)/g, '').length) {
    throw new SyntaxError(`The simulation cannot read this search: ${query}`);
  }
  let at = 0;
  const next = (): string => tokens[at++] ?? '';
  const is = (word: string): boolean => tokens[at]?.toUpperCase() === word;
  const expect = (word: string): void => {
    if (!is(word)) throw new SyntaxError(`The simulation expects ${word} in: ${query}`);
    at += 1;
  };
  const text = (): string => {
    const token = next();
    return token.startsWith("'") ? token.slice(1, -1).replaceAll("''", "'") : token;
  };
  const either = (): Condition => {
    let left = both();
    while (is('OR')) {
      at += 1;
      const [one, other] = [left, both()];
      left = (entry) => one(entry) || other(entry);
    }
    return left;
  };
  const both = (): Condition => {
    let left = single();
    while (is('AND')) {
      at += 1;
      const [one, other] = [left, single()];
      left = (entry) => one(entry) && other(entry);
    }
    return left;
  };
  const single = (): Condition => {
    if (is('(')) {
      at += 1;
      const inner = either();
      expect(')');
      return inner;
    }
    const name = next();
    if (is('IS')) {
      at += 1;
      const isNot = is('NOT');
      if (isNot) at += 1;
      expect('NULL');
      return (entry) => (valueOf(entry, name) !== null) === isNot;
    }
    if (is('IN')) {
      at += 1;
      expect('(');
      const values = [text()];
      while (is(',')) {
        at += 1;
        values.push(text());
      }
      expect(')');
      return (entry) => values.some((value) => equals(valueOf(entry, name), value));
    }
    const operator = next().toUpperCase();
    const value = text();
    switch (operator) {
      case '=':
        return (entry) => equals(valueOf(entry, name), value);
      case '!=':
        return (entry) => !equals(valueOf(entry, name), value);
      case 'STARTS_WITH':
        return (entry) => String(valueOf(entry, name) ?? '').startsWith(value);
      case '>=':
        return (entry) => compare(valueOf(entry, name), value, (difference) => difference >= 0);
      case '<=':
        return (entry) => compare(valueOf(entry, name), value, (difference) => difference <= 0);
      case '<':
        return (entry) => compare(valueOf(entry, name), value, (difference) => difference < 0);
      case '>':
        return (entry) => compare(valueOf(entry, name), value, (difference) => difference > 0);
      default:
        throw new SyntaxError(`The simulation does not know ${operator} in: ${query}`);
    }
  };
  const condition = query.trim() === '' ? () => true : either();
  if (at < tokens.length) throw new SyntaxError(`The simulation cannot read the end of: ${query}`);
  return condition;
}

function valueOf({ run, status, searchAttributes }: Entry, name: string): Value {
  switch (name) {
    case 'WorkflowId':
      return run.start.workflowId;
    case 'WorkflowType':
      return run.start.type;
    case 'RunId':
      return run.start.runId;
    case 'TaskQueue':
      return run.start.taskQueue;
    case 'ExecutionStatus':
      return STATUS_NAMES[status];
    case 'StartTime':
      return run.start.startedAt;
    case 'CloseTime':
      return run.closedAt;
    case 'TemporalReportedProblems':
      return run.problem;
    default: {
      const data = searchAttributes[name]?.data;
      if (data === null || data === undefined || data.length === 0) return null;
      const value = JSON.parse(decoder.decode(data)) as Value;
      return Array.isArray(value) && value.length === 0 ? null : value;
    }
  }
}

function equals(value: Value, wanted: string): boolean {
  if (typeof value === 'object' && value !== null) return value.includes(wanted);
  return value !== null && String(value) === wanted;
}

function compare(value: Value, wanted: string, holds: (difference: number) => boolean): boolean {
  if (value === null || typeof value === 'object') return false;
  const number = typeof value === 'number' ? value : Date.parse(value);
  return holds(number - (/^-?\d+$/.test(wanted) ? Number(wanted) : Date.parse(wanted)));
}
