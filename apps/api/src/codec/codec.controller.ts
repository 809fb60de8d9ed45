import { Body, Controller, Get, Header, HttpCode, Post, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import { Open, Requires } from '../auth/auth.guard.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/examples.js';
import { Problem } from '../problems/problem.js';
import { CodecLinkGuard, CodecLinks } from './codec-links.js';
import { codecAddress, payloads, type CodecAddress, type PayloadsJson } from './codec.schema.js';
import { CodecService } from './codec.service.js';

/** Shows encrypted payloads to the Temporal UI and command line. Source: Temporal's remote codec protocol. */
@ApiTags('operations')
@Controller()
export class CodecController {
  constructor(
    private readonly codec: CodecService,
    private readonly links: CodecLinks,
  ) {}

  @Get('v1/codec-address')
  @Requires('ops')
  @ApiBearerAuth()
  @Header('cache-control', 'no-store')
  @Describes('getCodecAddress', 'Makes an address at which the Temporal UI can read encrypted payloads', [])
  @Answers(200, 'Opens the codec, to read only, without a key', codecAddress, examples.codecAddress)
  address(): CodecAddress {
    return this.links.address(Date.now());
  }

  @Post('codec/encode')
  @HttpCode(200)
  @Requires('ops')
  @ApiExcludeEndpoint()
  encode(@Body({ schema: payloads }) body: PayloadsJson): Promise<PayloadsJson> {
    return this.codec.encode(body);
  }

  @Post('codec/decode')
  @HttpCode(200)
  @Requires('ops')
  @Header('cache-control', 'no-store')
  @ApiExcludeEndpoint()
  decode(@Body({ schema: payloads }) body: PayloadsJson): Promise<PayloadsJson> {
    return this.codec.decode(body);
  }

  @Post('codec/:token/decode')
  @HttpCode(200)
  @Open()
  @UseGuards(CodecLinkGuard)
  @Header('cache-control', 'no-store')
  @ApiExcludeEndpoint()
  decodeByLink(@Body({ schema: payloads }) body: PayloadsJson): Promise<PayloadsJson> {
    return this.codec.decode(body);
  }

  /** An address is for reading: whoever has one must not be able to write what our workflows would believe. */
  @Post('codec/:token/encode')
  @Open()
  @UseGuards(CodecLinkGuard)
  @ApiExcludeEndpoint()
  encodeByLink(): never {
    throw new Problem('forbidden', 'This address decodes only: use an ops key');
  }
}
