import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { Admits } from '../auth/access.js';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { Problem } from '../problems/problem.js';
import { CodecLinks } from './codec-links.js';
import { codecAddress, payloads, type CodecAddress, type PayloadsJson } from './codec.schema.js';
import { CodecService } from './codec.service.js';

/** Shows encrypted payloads to the Temporal UI and command line. Source: Temporal's remote codec protocol. */
@Tag('operations')
@Controller()
export class CodecController {
  constructor(
    private readonly codec: CodecService,
    private readonly links: CodecLinks,
  ) {}

  @Get('v1/codec-address')
  @Describes('getCodecAddress', 'Creates an address at which the Temporal UI can read encrypted payloads', [])
  @Answers(200, 'The address decodes without a key. It does not encode', codecAddress)
  address(): CodecAddress {
    return this.links.address(Date.now());
  }

  @Post('codec/encode')
  @HttpCode(200)
  @Admits('encodePayloads')
  encode(@Body({ schema: payloads }) body: PayloadsJson): Promise<PayloadsJson> {
    return this.codec.encode(body);
  }

  @Post('codec/decode')
  @HttpCode(200)
  @Admits('decodePayloads')
  decode(@Body({ schema: payloads }) body: PayloadsJson): Promise<PayloadsJson> {
    return this.codec.decode(body);
  }

  @Post('codec/:token/decode')
  @HttpCode(200)
  @Admits('useCodecAddress')
  decodeByLink(@Body({ schema: payloads }) body: PayloadsJson): Promise<PayloadsJson> {
    return this.codec.decode(body);
  }

  /** An address only decodes: its owner must not be able to encode payloads that workflows would trust. */
  @Post('codec/:token/encode')
  @Admits('useCodecAddress')
  encodeByLink(): never {
    throw new Problem('forbidden', 'This address only decodes. Use an ops key to encode');
  }
}
