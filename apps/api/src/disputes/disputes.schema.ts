import { z } from 'zod';
import { pageOf, providerId } from '../provider/lists.schema.js';

export const disputePath = z.object({ id: providerId });
export type DisputePath = z.output<typeof disputePath>;

export const documentPath = z.object({ id: providerId, document_id: providerId });
export type DocumentPath = z.output<typeof documentPath>;

/** The provider's document. Fields that are not named here are passed on. */
export const documentReply = z
  .looseObject({
    id: z.string(),
    filename: z.string().nullish(),
    kind: z.string().nullish(),
    download_uri: z.string().nullish(),
    created_at: z.string().nullish(),
  })
  .meta({ id: 'Document' });
export type DocumentReply = z.output<typeof documentReply>;

export const documentsReply = pageOf(documentReply, 'Documents');

/** The provider's dispute. Fields that are not named here are passed on. */
export const disputeReply = z
  .looseObject({
    id: z.string(),
    status: z.string().meta({ description: 'open, pending, won, lost; documents change while it is open' }),
    amount: z.int().nullish().meta({ description: 'Smallest currency unit' }),
    currency: z.string().nullish(),
    charge: z.string().nullish(),
    reason_code: z.string().nullish(),
    closed_at: z.string().nullish(),
  })
  .meta({ id: 'Dispute' });
export type DisputeReply = z.output<typeof disputeReply>;

const evidenceResult = z
  .object({
    filename: z.string(),
    status: z.enum(['stored', 'already_stored', 'refused', 'unknown']).meta({
      description: 'unknown: it may be stored; the same request again finds it, or stores it',
    }),
    document: documentReply.nullable(),
    code: z.string().nullable().meta({ description: 'Why it was refused or is unknown, in the word of the provider' }),
    detail: z.string().nullable(),
  })
  .meta({ id: 'EvidenceResult' });
export type EvidenceResult = z.output<typeof evidenceResult>;

export const evidenceReply = z.object({ data: z.array(evidenceResult) }).meta({ id: 'Evidence' });
export type EvidenceReply = z.output<typeof evidenceReply>;
