import { Controller, Get, Req } from '@nestjs/common';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { callersKey, type Caller } from './caller.js';
import { keyReply, type KeyReply } from './key.schema.js';

/** What a key may do. */
@Tag('keys')
@Controller('v1/me')
export class KeyController {
  @Get()
  @Describes('getKey', 'Reads what the key of the request may do', [])
  @Answers(200, 'The key. No answer ever has its token or its hash', keyReply)
  get(@Req() request: Caller): KeyReply {
    const { name, account, scopes, stores, terminals, notAfter, refundLimit } = callersKey(request);
    return {
      name,
      account,
      scopes: [...scopes],
      stores: stores && [...stores],
      terminals: terminals && [...terminals],
      not_after: notAfter === null ? null : new Date(notAfter).toISOString(),
      refund_limit: typeof refundLimit === 'number' ? refundLimit : refundLimit && { ...refundLimit },
    };
  }
}
