import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AskedBy, type Asker } from '../auth/caller.js';
import { Answers, AnswersWith, Describes, Tag } from '../openapi/decorators.js';
import {
  changeEndpoint,
  createEndpoint,
  deliveriesReply,
  endpointPath,
  endpointReply,
  endpointsReply,
  endpointWithSecret,
  listDeliveries,
  replayEvents,
  testReply,
  type ChangeEndpoint,
  type CreateEndpoint,
  type DeliveriesReply,
  type EndpointPath,
  type EndpointReply,
  type EndpointsReply,
  type EndpointWithSecret,
  type ListDeliveries,
  type ReplayEvents,
  type TestReply,
} from './event-endpoints.schema.js';
import { EventEndpointsService } from './event-endpoints.service.js';

const CREATED = ['getEventEndpoint', 'updateEventEndpoint', 'testEventEndpoint', 'listEventDeliveries'];
const AT_LOCATION = {
  headers: ['Location'],
  links: CREATED.map((operationId) => ({ operationId, parameters: { id: '$response.body#/id' } })),
} as const;
const PROBLEMS = ['not_found', 'temporal_unavailable', 'overloaded'] as const;

@Tag('events')
@Controller('v1/event-endpoints')
export class EventEndpointsController {
  constructor(private readonly endpoints: EventEndpointsService) {}

  @Post()
  @Describes('createEventEndpoint', 'Creates an endpoint, which gets the events of checkouts from now on', [
    'endpoint_refused',
    'too_many_endpoints',
    'temporal_unavailable',
    'overloaded',
  ])
  @Answers(201, 'The endpoint with its secret', endpointWithSecret, AT_LOCATION)
  async create(
    @Body({ schema: createEndpoint }) body: CreateEndpoint,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EndpointWithSecret> {
    const created = await this.endpoints.create(body, asker);
    void reply.header('location', `/v1/event-endpoints/${created.id}`);
    return created;
  }

  @Get()
  @Describes('listEventEndpoints', 'Lists the endpoints', ['temporal_unavailable', 'overloaded'])
  @Answers(200, 'All endpoints, the oldest first', endpointsReply)
  list(): Promise<EndpointsReply> {
    return this.endpoints.list();
  }

  @Get(':id')
  @Describes('getEventEndpoint', 'Reads an endpoint', PROBLEMS)
  @Answers(200, 'The endpoint', endpointReply)
  get(@Param({ schema: endpointPath }) { id }: EndpointPath): Promise<EndpointReply> {
    return this.endpoints.get(id);
  }

  @Patch(':id')
  @Describes('updateEventEndpoint', 'Changes an endpoint, or enables or disables it', [...PROBLEMS, 'endpoint_refused'])
  @Answers(200, 'The endpoint as it is now', endpointReply)
  change(
    @Param({ schema: endpointPath }) { id }: EndpointPath,
    @Body({ schema: changeEndpoint }) body: ChangeEndpoint,
    @AskedBy() asker: Asker,
  ): Promise<EndpointReply> {
    return this.endpoints.change(id, body, asker);
  }

  @Delete(':id')
  @HttpCode(204)
  @Describes(
    'deleteEventEndpoint',
    'Deletes an endpoint. Deliveries that are in progress may still arrive: each ends within minutes',
    PROBLEMS,
  )
  @AnswersWith(204, 'It is deleted')
  async remove(@Param({ schema: endpointPath }) { id }: EndpointPath, @AskedBy() asker: Asker): Promise<void> {
    await this.endpoints.remove(id, asker);
  }

  @Post(':id/rotate-secret')
  @HttpCode(200)
  @Describes(
    'rotateEventEndpointSecret',
    'Makes a new secret. For 24 hours, the new and the old one sign. After a 503, repeat the request: the secret may have changed without an answer',
    PROBLEMS,
  )
  @Answers(200, 'The endpoint with its new secret', endpointWithSecret)
  rotate(@Param({ schema: endpointPath }) { id }: EndpointPath, @AskedBy() asker: Asker): Promise<EndpointWithSecret> {
    return this.endpoints.rotate(id, asker);
  }

  @Post(':id/test')
  @HttpCode(202)
  @Describes('testEventEndpoint', 'Sends an event of the type `endpoint.test`', PROBLEMS)
  @Answers(202, 'It is being sent. `listEventDeliveries` shows the answer', testReply, {
    links: [{ operationId: 'listEventDeliveries', parameters: { id: '$request.path.id' } }],
  })
  test(@Param({ schema: endpointPath }) { id }: EndpointPath, @AskedBy() asker: Asker): Promise<TestReply> {
    return this.endpoints.test(id, asker);
  }

  @Post(':id/replay')
  @HttpCode(202)
  @Describes(
    'replayEvents',
    'Sends the newest event of each checkout that had one in a time range, the newest first',
    PROBLEMS,
  )
  @Answers(202, 'The events are being sent, to a disabled endpoint once it is enabled', endpointReply)
  replay(
    @Param({ schema: endpointPath }) { id }: EndpointPath,
    @Body({ schema: replayEvents }) body: ReplayEvents,
    @AskedBy() asker: Asker,
  ): Promise<EndpointReply> {
    return this.endpoints.replay(id, body, asker);
  }

  @Get(':id/deliveries')
  @Describes('listEventDeliveries', 'Lists the deliveries of the last seven days', PROBLEMS)
  @Answers(
    200,
    'One page of deliveries, the newest first. It may be shorter than `limit`, or empty, although another page follows',
    deliveriesReply,
  )
  deliveries(
    @Param({ schema: endpointPath }) { id }: EndpointPath,
    @Query({ schema: listDeliveries }) query: ListDeliveries,
  ): Promise<DeliveriesReply> {
    return this.endpoints.deliveries(id, query);
  }
}
