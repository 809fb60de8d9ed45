import { fieldsOf, isObject, type FieldAt, type Json, type JsonObject } from './kinds.js';
import { fieldRow } from './field-rows.js';
import { NotShown } from './provider.js';
import { RESOURCES, type Resource } from './resources.js';
import { Samples, type SampleName } from './samples.js';

/** A mistake that a provider could make in one field. */
export type Mutation = {
  readonly name: string;
  /** Whether the change is a mistake for this field. */
  readonly appliesTo: (field: FieldAt) => boolean;
  readonly mutate: (record: JsonObject, field: string) => JsonObject;
};

const without = (record: JsonObject, field: string): JsonObject =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== field));

/** A field without a type in the reference accepts every type. */
const isTyped = ({ kind }: FieldAt): boolean => kind.says !== 'there';

const isNeeded = ({ kind }: FieldAt): boolean => kind.optional !== true;

export const MUTATIONS: readonly Mutation[] = [
  { name: 'is removed', appliesTo: isNeeded, mutate: without },
  {
    name: 'is renamed',
    appliesTo: isNeeded,
    mutate: (record, field) => ({ ...without(record, field), [`${field}_`]: record[field] ?? null }),
  },
  {
    name: 'changes its type',
    appliesTo: isTyped,
    mutate: (record, field) => ({ ...record, [field]: Array.isArray(record[field]) ? 'text' : [0.5] }),
  },
  {
    name: 'is null without leave',
    appliesTo: (field) => isTyped(field) && !field.kind.admits(null) && !field.kind.nullable,
    mutate: (record, field) => ({ ...record, [field]: null }),
  },
];

/** The fields whose row passes although the mutation changes every record of the resource. */
export async function unnoticed(mutation: Mutation, samples: Samples): Promise<string[]> {
  const missed: string[] = [];
  for (const resource of RESOURCES) {
    for (const field of fieldsOf(resource.kind).filter(mutation.appliesTo)) {
      if (!(await isNoticed(resource, field, mutation, samples))) {
        missed.push([resource.name, ...field.path].join('.'));
      }
    }
  }
  return missed;
}

async function isNoticed(resource: Resource, field: FieldAt, mutation: Mutation, samples: Samples): Promise<boolean> {
  try {
    await fieldRow(resource, field).shows(new MutatedSamples(samples, field.path, mutation));
    return false;
  } catch (error) {
    if (error instanceof NotShown) throw error;
    return true;
  }
}

class MutatedSamples extends Samples {
  constructor(
    private readonly samples: Samples,
    private readonly path: readonly string[],
    private readonly mutation: Mutation,
  ) {
    super(samples.provider);
  }

  override async get(name: SampleName): Promise<JsonObject> {
    return mutated(await this.samples.get(name), this.path, this.mutation) as JsonObject;
  }
}

/** The record with one field changed, at every place in it. */
function mutated(value: Json, [name, ...rest]: readonly string[], mutation: Mutation): Json {
  if (name === undefined) return value;
  if (name === '[]') {
    return Array.isArray(value) ? value.map((element: Json) => mutated(element, rest, mutation)) : value;
  }
  if (!isObject(value) || !Object.hasOwn(value, name)) return value;
  if (rest.length === 0) return mutation.mutate(value, name);
  return { ...value, [name]: mutated(value[name] ?? null, rest, mutation) };
}
