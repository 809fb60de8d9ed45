import { z } from 'zod';

/** A part of the document. */
export type Json = { readonly [name: string]: unknown };

type Side = 'input' | 'output';

/** The pattern that zod adds to the format of a time or a day: the calendar, in 300 characters. */
const DATE_TIME = z.toJSONSchema(z.iso.datetime({ offset: true }));
const DATE = z.toJSONSchema(z.iso.date());

const DEFINITIONS = '#/$defs/';
const COMPONENTS = '#/components/schemas/';

/** The schemas of the document. Those with an id become components; the others stand where they are used. */
export class Schemas {
  readonly #components = new Map<string, Json>();

  /** The schema as JSON Schema 2020-12: a reference, when it has an id. */
  refer(schema: z.ZodType, side: Side): Json {
    const { $defs = {}, $schema: _, ...own } = jsonSchemaOf(schema, side);
    for (const [id, definition] of Object.entries($defs)) this.#add(id, definition);
    return own;
  }

  /** The parameters that the fields of an object are. */
  parameters(object: z.ZodType | undefined, place: 'path' | 'query'): readonly Json[] {
    if (object === undefined) return [];
    const { required = [] } = jsonSchemaOf(object, 'input');
    // A query parameter is text that becomes a number or a time. The description states the resulting type, so that a
    // generated client uses it.
    const { properties = {} } = this.refer(object, 'output') as {
      readonly properties?: Readonly<Record<string, Json>>;
    };
    return Object.entries(properties).map(([name, { description, ...schema }]) => ({
      name,
      in: place,
      required: required.includes(name),
      description,
      schema,
    }));
  }

  components(): Json {
    return Object.fromEntries([...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #add(id: string, definition: Json): void {
    const known = this.#components.get(id);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(definition)) {
      throw new Error(`Two schemas have the id ${id}`);
    }
    this.#components.set(id, definition);
  }
}

type JsonSchema = Json & { readonly $defs?: Readonly<Record<string, Json>>; readonly required?: readonly string[] };

function jsonSchemaOf(schema: z.ZodType, side: Side): JsonSchema {
  const whole = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // Removes `default`, because generators make a field with a default required. The description of the field states
      // the default.
      delete jsonSchema.default;
      // The format says the same.
      if (jsonSchema.pattern === DATE_TIME.pattern || jsonSchema.pattern === DATE.pattern) delete jsonSchema.pattern;
      // A client must not break when a reply gets another field.
      if (side === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return JSON.parse(JSON.stringify(whole).replaceAll(DEFINITIONS, COMPONENTS)) as JsonSchema;
}
