import { Body, Controller, Get, Patch, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Account, AccountVersions } from '@tillflow/payments-client';
import type { FastifyReply } from 'fastify';
import { Requires } from '../auth/access.js';
import { AskedBy, type Asker } from '../auth/asker.js';
import { pendingChange, type PendingChange } from '../commands/pending.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/resource-examples.js';
import { COMMAND_PROBLEMS, READ_PROBLEMS } from '../openapi/resource-problems.js';
import {
  accountReply,
  accountVersionsReply,
  updateAccount,
  upgradeApiVersion,
  type UpdateAccount,
  type UpgradeApiVersion,
} from './account.schema.js';
import { AccountService } from './account.service.js';

const CHANGE_PROBLEMS = [
  ...COMMAND_PROBLEMS,
  'change_in_progress',
  'body_too_large',
  'unsupported_media_type',
] as const;

@ApiTags('account')
@ApiBearerAuth()
@Controller('v1/account')
export class AccountController {
  constructor(private readonly account: AccountService) {}

  @Get()
  @Requires('ops')
  @Describes('getAccount', `Reads the merchant's settings at the provider`, READ_PROBLEMS)
  @Answers(200, 'The account as the provider shows it', accountReply, examples.account)
  get(): Promise<Account> {
    return this.account.get();
  }

  @Patch()
  @Requires('ops')
  @Describes('updateAccount', 'Changes settings at the provider; what is left out stays', CHANGE_PROBLEMS)
  @Answers(200, 'The account after the change', accountReply, examples.account)
  @Answers(202, 'Its outcome is not known yet: repeat the request', pendingChange, examples.pendingChange)
  async update(
    @Body({ schema: updateAccount }) body: UpdateAccount,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) answer: FastifyReply,
  ): Promise<Account | PendingChange> {
    const { reply, status } = await this.account.update(body, asker);
    void answer.status(status);
    return reply;
  }

  @Get('api-versions')
  @Requires('ops')
  @Describes('listApiVersions', 'Reads which versions of its API the provider has', READ_PROBLEMS)
  @Answers(200, 'The account, with the versions it can have', accountVersionsReply, examples.accountVersions)
  versions(): Promise<AccountVersions> {
    return this.account.versions();
  }

  @Post('api-version')
  @Requires('ops')
  @Describes('upgradeApiVersion', 'Moves the account to the newest version of the API', CHANGE_PROBLEMS)
  @Answers(200, 'The account in its new version', accountReply, examples.account)
  @Answers(202, 'Its outcome is not known yet: repeat the request', pendingChange, examples.pendingChange)
  async upgrade(
    @Body({ schema: upgradeApiVersion }) _confirmed: UpgradeApiVersion,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) answer: FastifyReply,
  ): Promise<Account | PendingChange> {
    const { reply, status } = await this.account.upgradeApiVersion(asker);
    void answer.status(status);
    return reply;
  }
}
