import { fieldsOf, isShownWhole, mistakesIn, unknownFields, valuesAt, type FieldAt, type JsonObject } from './kinds.js';
import { NotShown } from './provider.js';
import { RESOURCES, type Resource } from './resources.js';
import { expect, type Row } from './row.js';
import type { Samples } from './samples.js';

/** Each field of each resource: it is present, has its type, and is null only where the table allows it. */
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
      if (!filled && !samples.provider.where.complete) throw new NotShown('no record here has a value for it');
      expect(filled, `some ${resource.name} has a value for ${name}`).toBe(true);
    },
  };
}

/** A provider may add fields. The sandbox does not, so that no client relies on a field outside the reference. */
function completeRow(resource: Resource): Row {
  return {
    fact: `${resource.name} has no other fields`,
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
