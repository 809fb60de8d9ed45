import { z } from 'zod';
import { amount, currency, providerId, text } from '../shared/fields.schema.js';
import { pageOf } from '../provider/lists.schema.js';
import { MAX_FILES, MAX_KIND_LENGTH } from './upload.js';

const disputeId = providerId.meta({ examples: ['dspt_test_1w4e7r0t3y'] });

export const disputePath = z.object({ id: disputeId });
export type DisputePath = z.output<typeof disputePath>;

export const documentPath = z.object({
  id: disputeId,
  document_id: providerId.meta({ examples: ['docu_test_7z4x1c8v5b'] }),
});
export type DocumentPath = z.output<typeof documentPath>;

/** The multipart body. `upload.ts` checks it while it arrives. */
export const evidenceBody = z
  .strictObject({
    file: z
      .array(z.string().meta({ format: 'binary', contentMediaType: 'application/octet-stream' }))
      .min(1)
      .max(MAX_FILES)
      .meta({ description: 'PNG, JPEG or PDF, at most 10 MB each. The name of each file must match its content' }),
    kind: text(MAX_KIND_LENGTH).optional().meta({ description: 'What the documents are evidence of. Free text' }),
  })
  .meta({ id: 'AddEvidence' });

const example = {
  object: 'document',
  id: 'docu_test_7z4x1c8v5b',
  filename: 'receipt.pdf',
  kind: 'receipt',
  download_uri: 'https://provider.example/documents/receipt.pdf',
  created_at: '2026-11-21T06:02:11.480Z',
};

/** The provider's document. Fields that are not named here are passed on. */
export const documentReply = z
  .looseObject({
    id: providerId,
    filename: z.string().nullish(),
    kind: z.string().nullish(),
    download_uri: z.string().nullish(),
    created_at: z.string().nullish(),
  })
  .meta({ id: 'Document', examples: [example] });

export const documentsReply = pageOf(documentReply, 'DocumentPage');

/** The provider's dispute. Fields that are not named here are passed on. */
export const disputeReply = z
  .looseObject({
    id: providerId,
    status: z.string().meta({ description: '`open`, `pending`, `won`, `lost`. Documents can change while it is open' }),
    amount: amount.nullish(),
    currency: currency.nullish(),
    charge: z.string().nullish(),
    reason_code: z.string().nullish(),
    closed_at: z.string().nullish(),
  })
  .meta({
    id: 'Dispute',
    examples: [
      {
        object: 'dispute',
        id: 'dspt_test_1w4e7r0t3y',
        status: 'open',
        amount: 150_000,
        currency: 'THB',
        charge: 'chrg_test_ym45mfiva1bdny558nb',
        reason_code: 'goods_or_services_not_provided',
        closed_at: null,
      },
    ],
  });

const evidenceResult = z
  .object({
    filename: z.string(),
    status: z.enum(['stored', 'already_stored', 'refused', 'unknown']).meta({
      description: '`unknown`: it may be stored. The same request again finds it, or stores it',
    }),
    document: documentReply.nullable(),
    code: z.string().nullable().meta({ description: "Why it was refused or is unknown: the provider's code" }),
    detail: z.string().nullable(),
  })
  .meta({ id: 'EvidenceResult' });
export type EvidenceResult = z.output<typeof evidenceResult>;

export const evidenceReply = z.object({ data: z.array(evidenceResult) }).meta({
  id: 'Evidence',
  examples: [
    {
      data: [
        { filename: 'receipt.pdf', status: 'stored', document: example, code: null, detail: null },
        {
          filename: 'delivery.png',
          status: 'unknown',
          document: null,
          code: 'timeout',
          detail: 'The provider did not answer in time',
        },
      ],
    },
  ],
});
export type EvidenceReply = z.output<typeof evidenceReply>;
