import { Body, Controller, Get, Patch, Post, Res } from '@nestjs/common';
import type { Account, AccountVersions } from '@tillflow/payments-client';
import type { FastifyReply } from 'fastify';
import { AskedBy, type Asker } from '../auth/caller.js';
import { pendingChange, type PendingChange } from '../commands/commands.schema.js';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { COMMAND_PROBLEMS, READ_PROBLEMS } from '../openapi/problem-sets.js';
import {
  accountReply,
  accountVersionsReply,
  updateAccount,
  upgradeApiVersion,
  type UpdateAccount,
  type UpgradeApiVersion,
} from './account.schema.js';
import { AccountService } from './account.service.js';

const CHANGE_PROBLEMS = [...COMMAND_PROBLEMS, 'change_in_progress'] as const;

@Tag('account')
@Controller('v1/account')
export class AccountController {
  constructor(private readonly account: AccountService) {}

  @Get()
  @Describes('getAccount', `Reads the merchant's settings at the provider`, READ_PROBLEMS)
  @Answers(200, 'The account as the provider shows it', accountReply)
  get(): Promise<Account> {
    return this.account.get();
  }

  @Patch()
  @Describes(
    'updateAccount',
    'Changes settings at the provider. Fields that are left out keep their values',
    CHANGE_PROBLEMS,
  )
  @Answers(200, 'The account after the change', accountReply)
  @Answers(202, 'The outcome is not known yet. Repeat the request', pendingChange)
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
  @Describes('listApiVersions', "Lists the versions of the provider's API", READ_PROBLEMS)
  @Answers(200, 'The account, and the versions that it can use', accountVersionsReply)
  versions(): Promise<AccountVersions> {
    return this.account.versions();
  }

  @Post('api-version')
  @Describes('upgradeApiVersion', 'Moves the account to the newest version of the API', CHANGE_PROBLEMS)
  @Answers(200, 'The account with its new version', accountReply)
  @Answers(202, 'The outcome is not known yet. Repeat the request', pendingChange)
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
