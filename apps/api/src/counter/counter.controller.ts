import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { Neighbours } from '../accounts/neighbours.js';
import { AskedBy, tillOf, type Asker, type Caller } from '../auth/caller.js';
import { Answers, AnswersWith, Describes, Tag } from '../openapi/decorators.js';
import {
  createLink,
  linkPath,
  linkReply,
  linksReply,
  newSessionReply,
  openSession,
  sessionReply,
  todayReply,
  type CreateLink,
  type LinkPath,
  type LinkReply,
  type LinksReply,
  type NewSessionReply,
  type OpenSession,
  type SessionReply,
  type TodayReply,
} from './counter.schema.js';
import { CounterService } from './counter.service.js';

const PROBLEMS = ['temporal_unavailable', 'overloaded'] as const;

/** Links to the counter, the page at which a person sells at one till. */
@Tag('counter')
@Controller('v1/counter-links')
export class CounterLinksController {
  constructor(private readonly counter: CounterService) {}

  @Post()
  @Describes('createCounterLink', 'Creates a link to the counter of a till', PROBLEMS)
  @Answers(201, 'The link. It opens the counter of this till, and nothing else', linkReply, {
    links: [{ operationId: 'revokeCounterLink', parameters: { id: '$response.body#/id' } }],
  })
  create(@Body({ schema: createLink }) body: CreateLink, @AskedBy() asker: Asker): Promise<LinkReply> {
    return this.counter.createLink(body, asker);
  }

  @Get()
  @Describes('listCounterLinks', 'Lists the valid links to counters', PROBLEMS)
  @Answers(200, 'All links that have neither expired nor been revoked, the newest first', linksReply)
  list(): Promise<LinksReply> {
    return this.counter.links();
  }

  @Delete(':id')
  @HttpCode(204)
  @Describes('revokeCounterLink', 'Revokes a link, and every session that it opened', [...PROBLEMS, 'not_found'])
  @AnswersWith(204, 'It is revoked. Another process of the API may accept its sessions for five more seconds')
  async revoke(@Param({ schema: linkPath }) { id }: LinkPath, @AskedBy() asker: Asker): Promise<void> {
    await this.counter.revoke(id, asker);
  }
}

/** The session of one till. */
@Tag('counter')
@Controller()
export class CounterSessionsController {
  constructor(
    private readonly counter: CounterService,
    private readonly neighbours: Neighbours,
  ) {}

  @Post('v1/counter-sessions')
  @Describes('openCounterSession', 'Exchanges the token of a link for a session of its till', [
    ...PROBLEMS,
    'unauthorized',
  ])
  @Answers(201, 'The session. It expires with the link', newSessionReply, {
    links: [{ operationId: 'getCounterSession', parameters: {} }],
  })
  open(@Body({ schema: openSession }) { token }: OpenSession): Promise<NewSessionReply> {
    return (this.neighbours.counterOf(token) ?? this.counter).open(token);
  }

  @Get('v1/counter-session')
  @Describes('getCounterSession', "Reads the session, and the API's clock", PROBLEMS)
  @Answers(200, 'The till of the session', sessionReply)
  session(@Req() request: Caller): SessionReply {
    return this.counter.session(tillOf(request));
  }

  @Get('v1/counter-session/today')
  @Describes('getCounterDay', "Reads the till's totals of the present business day", [
    ...PROBLEMS,
    'checkout_unreadable',
  ])
  @Answers(200, 'The totals of each currency', todayReply)
  today(@Req() request: Caller): Promise<TodayReply> {
    return this.counter.today(tillOf(request));
  }
}
