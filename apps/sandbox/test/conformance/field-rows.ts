import { fieldsOf, isShownWhole, mistakesIn, unknownFields, valuesAt, type FieldAt, type JsonObject } from './kinds.js';
import { NotShown } from './provider.js';
import { RESOURCES, type Resource } from './resources.js';
import { expect, type Row } from './row.js';
import type { Samples } from './samples.js';

/** Each field of each resource: there, of its type, and null only where it may be. */
export const FIELD_ROWS: readonly Row[] = RESOURCES.flatMap((resource) =>
  fieldsOf(resource.kind)
    .map((field) => fieldRow(resource, field))
    .concat(resource.complete ? completeRow(resource) : []),
);

export function fieldRow(resource: Resource, { path, kind }: FieldAt): Row {
  const name = [resource.name, ...path].join('.').replaceAll('.[]', '[]');
  const orNull = kind.nullable ? ', or null' : '';
  const own = isShownWhole(kind) ? kind : { ...kind, fields: {}, elements: undefined };
  return {
    fact: `${name} is ${kind.says}${orNull}`,
    shows: async (samples) => {
      const records = await available(resource, samples);
      const values = records.flatMap((record) => valuesAt(record, path));
      expect(values.flatMap((value) => mistakesIn(value, own, name))).toEqual([]);
      if (kind.unfilled) return;
      const filled = values.some((value) => value !== null && value !== undefined);
      if (!filled && !samples.provider.where.complete) throw new NotShown('no record here has it filled');
      expect(filled, `some ${resource.name} has ${name} filled`).toBe(true);
    },
  };
}

/** A provider may add fields and clients must bear it; the sandbox teaches nobody a field that the reference has not. */
function completeRow(resource: Resource): Row {
  return {
    fact: `${resource.name} has no field beside these`,
    shows: async (samples) => {
      if (!(await samples.provider.hasControl())) throw new NotShown('another provider may add fields');
      const records = await available(resource, samples);
      expect(records.flatMap((record) => unknownFields(record, resource.kind, resource.name))).toEqual([]);
    },
  };
}

async function available(resource: Resource, samples: Samples): Promise<JsonObject[]> {
  const records: JsonObject[] = [];
  let reason: NotShown | null = null;
  for (const name of resource.samples) {
    try {
      records.push(await samples.get(name));
    } catch (error) {
      if (!(error instanceof NotShown)) throw error;
      reason = error;
    }
  }
  if (reason !== null && (records.length === 0 || samples.provider.where.complete)) throw reason;
  return records;
}
