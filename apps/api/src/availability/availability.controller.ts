import { Controller, Get } from '@nestjs/common';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { availabilityReply, type AvailabilityReply } from './availability.schema.js';
import { AvailabilityService } from './availability.service.js';

@Tag('availability')
@Controller('v1/availability')
export class AvailabilityController {
  constructor(private readonly availability: AvailabilityService) {}

  @Get()
  @Describes('getAvailability', 'Says whether new payments are possible now', [])
  @Answers(200, 'Whether new checkouts make sense, the state of the provider, and the currencies', availabilityReply)
  get(): Promise<AvailabilityReply> {
    return this.availability.get();
  }
}
