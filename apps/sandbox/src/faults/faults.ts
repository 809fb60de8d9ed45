import type { Random } from '../random.js';
import type { Fault } from './plan.js';

/** A fault with its counts. */
export type FaultState = Fault & { readonly id: number; readonly matched: number; readonly struck: number };

type Rule = { readonly id: number; readonly fault: Fault; readonly random: Random; matched: number; struck: number };

/** A request; `route` is its template, null when no route has the path. */
export type Target = { readonly method: string; readonly route: string | null; readonly path: string };

/** The faults, in the order in which they were added. The first one that hits a request wins. */
export class Faults {
  #rules: Rule[] = [];
  #count = 0;

  add(faults: readonly Fault[], random: Random): void {
    for (const fault of faults) {
      this.#count += 1;
      const id = this.#count;
      this.#rules.push({ id, fault, random: random.stream(`fault/${id}`), matched: 0, struck: 0 });
    }
  }

  clear(): void {
    this.#rules = [];
  }

  /** Also starts the ids again, so that draws repeat. */
  reset(): void {
    this.clear();
    this.#count = 0;
  }

  list(): FaultState[] {
    return this.#rules.map(({ id, fault, matched, struck }) => ({ ...fault, id, matched, struck }));
  }

  /** The fault that hits the request, with its id, or null. Counts the hit. */
  strike(target: Target): (Fault & { readonly id: number }) | null {
    for (const rule of this.#rules) {
      const { fault } = rule;
      if (rule.struck >= (fault.times ?? Infinity) || !matches(fault, target)) continue;
      rule.matched += 1;
      if (rule.matched <= (fault.after ?? 0)) continue;
      if (fault.probability !== undefined && !rule.random.chance(fault.probability)) continue;
      rule.struck += 1;
      return { ...fault, id: rule.id };
    }
    return null;
  }
}

function matches(fault: Fault, target: Target): boolean {
  if (fault.method !== undefined && fault.method.toUpperCase() !== target.method) return false;
  const { path } = fault;
  if (path === undefined || path === target.path) return true;
  if (path.includes('*')) return glob(path).test(target.path);
  return target.route !== null && anonymous(path) === anonymous(target.route);
}

/** A template without the names of its parameters. */
function anonymous(template: string): string {
  return template.replaceAll(/\{[^/}]*\}|:[^/]+/g, '{}');
}

function glob(pattern: string): RegExp {
  const escaped = pattern
    .replaceAll(/\{[^/}]*\}/g, '\0')
    .replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('\0', '[^/]+');
  return new RegExp(`^${escaped.replaceAll('*', '.*')}$`);
}
