import { z } from 'zod';
import type { RecordFields } from '../resource.js';

/** Prefix `docu_`. */
export type DocumentId = string;

/** A stored file: a QR code image, or evidence in a dispute. Source: API reference, "Document". */
export interface Document extends RecordFields {
  object: 'document';
  id: DocumentId;
  deleted?: boolean | null | undefined;
  filename?: string | null | undefined;
  /** `qr` for a QR code image. An open list. */
  kind?: string | null | undefined;
  /** Address of the bytes. It needs no key (assumption). */
  download_uri?: string | null | undefined;
}

export const document: z.ZodType<Document> = z.object({
  object: z.literal('document'),
  id: z.string(),
  download_uri: z.string().nullish(),
});
