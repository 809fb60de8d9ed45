import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { PaymentsClient } from '@tillflow/payments-client';
import { ConfiguredKeys, type Temporal } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { AccountController } from './account/account.controller.js';
import { AccountService } from './account/account.service.js';
import { Neighbours } from './accounts/neighbours.js';
import { Acceptance } from './availability/acceptance.js';
import { AvailabilityController } from './availability/availability.controller.js';
import { AvailabilityService } from './availability/availability.service.js';
import { ProviderStatus } from './availability/provider-status.js';
import { KeyController } from './auth/key.controller.js';
import { PlaceGuard } from './auth/place.guard.js';
import { Signatures } from './auth/signatures.js';
import { SignedLinks } from './auth/signed-links.js';
import { AttemptsService } from './checkouts/attempts.service.js';
import { CheckoutChanges } from './checkouts/checkout-changes.js';
import { CheckoutsController } from './checkouts/checkouts.controller.js';
import { CheckoutsRepository } from './checkouts/checkouts.repository.js';
import { CheckoutStarts } from './checkouts/starts.js';
import { CheckoutsService } from './checkouts/checkouts.service.js';
import { EventTailWatch } from './checkouts/event-tail-watch.js';
import { LinkReads } from './checkouts/link-reads.js';
import { CheckoutPresenter } from './checkouts/presenter.js';
import { QrService } from './checkouts/qr.service.js';
import { RefundsController } from './checkouts/refunds.controller.js';
import { RefundsService } from './checkouts/refunds.service.js';
import { SourceCheck } from './checkouts/source-check.js';
import { CodecLinks } from './codec/codec-links.js';
import { CodecController } from './codec/codec.controller.js';
import { CodecService } from './codec/codec.service.js';
import { Commands } from './commands/commands.service.js';
import { CustomersController } from './customers/customers.controller.js';
import { CustomersService } from './customers/customers.service.js';
import { DayReportsController } from './day-reports/day-reports.controller.js';
import { DayReportsService } from './day-reports/day-reports.service.js';
import { DisputesController } from './disputes/disputes.controller.js';
import { DisputesService } from './disputes/disputes.service.js';
import { EvidenceService } from './disputes/evidence.service.js';
import { SameDocument } from './disputes/same-document.js';
import { Limits } from './edge/limits.js';
import { EndpointLinks } from './event-endpoints/endpoint-links.js';
import { EventEndpointsController } from './event-endpoints/event-endpoints.controller.js';
import { EventEndpointsService } from './event-endpoints/event-endpoints.service.js';
import { HealthController } from './health/health.controller.js';
import { Readiness } from './health/readiness.js';
import { AdmissionMetrics } from './metrics/admission.js';
import { BusinessMetrics } from './metrics/business.js';
import { MetricsController } from './metrics/metrics.controller.js';
import { Metrics } from './metrics/metrics.js';
import { PlansController } from './plans/plans.controller.js';
import { PlansService } from './plans/plans.service.js';
import { ErrorsController } from './problems/errors.controller.js';
import { ProviderLists } from './provider/provider-lists.js';
import { ProviderReads } from './provider/provider-reads.js';
import { LOGGER, Settings } from './providers.js';
import { ReceiptsController } from './receipts/receipts.controller.js';
import { ReceiptsService } from './receipts/receipts.service.js';
import { ReconciliationsController } from './reconciliations/reconciliations.controller.js';
import { ReconciliationsService } from './reconciliations/reconciliations.service.js';
import { RecordsController } from './records/records.controller.js';
import { RecordsService } from './records/records.service.js';
import { placesIn } from './settings.js';
import { CounterLinksController, CounterSessionsController } from './counter/counter.controller.js';
import { CounterService } from './counter/counter.service.js';
import { OpenLinks } from './counter/open-links.js';
import { TillTokens } from './counter/till-tokens.js';
import { Cursors } from './shared/cursors.js';
import { StreamsController } from './streams/streams.controller.js';
import { StreamsService } from './streams/streams.service.js';
import { WaitingService } from './streams/waiting.service.js';
import { Watches } from './checkouts/watches.js';
import { TemporalAccess } from './temporal/temporal.provider.js';
import { TestModeController } from './test-mode/test-mode.controller.js';
import { TestModeService } from './test-mode/test-mode.service.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';
import { WebhooksService } from './webhooks/webhooks.service.js';

/** The routes of the provider's resources beyond checkouts. */
const RESOURCE_CONTROLLERS = [
  PlansController,
  DisputesController,
  CustomersController,
  AccountController,
  RecordsController,
  TestModeController,
];

/** What those routes need. */
const RESOURCE_PROVIDERS = [
  ProviderReads,
  ProviderLists,
  Commands,
  PlansService,
  DisputesService,
  EvidenceService,
  SameDocument,
  CustomersService,
  AccountService,
  RecordsService,
  TestModeService,
];

export type AppParts = {
  readonly settings: Settings;
  readonly keys: ConfiguredKeys;
  readonly neighbours: Neighbours;
  readonly limits: Limits;
  readonly temporal: Temporal;
  readonly provider: PaymentsClient;
  readonly logger: Logger;
};

export const CONTROLLERS: Type[] = [
  CheckoutsController,
  AvailabilityController,
  RefundsController,
  ReceiptsController,
  StreamsController,
  WebhooksController,
  HealthController,
  MetricsController,
  CodecController,
  ReconciliationsController,
  DayReportsController,
  EventEndpointsController,
  CounterLinksController,
  CounterSessionsController,
  KeyController,
  ErrorsController,
  ...RESOURCE_CONTROLLERS,
];

@Module({})
export class AppModule {
  static of({ settings, keys, neighbours, limits, temporal, provider, logger }: AppParts): DynamicModule {
    return {
      module: AppModule,
      controllers: CONTROLLERS,
      providers: [
        { provide: Settings, useValue: settings },
        { provide: ConfiguredKeys, useValue: keys },
        { provide: Neighbours, useValue: neighbours },
        { provide: Limits, useValue: limits },
        { provide: TemporalAccess, useValue: new TemporalAccess(temporal, placesIn(settings.values)) },
        { provide: PaymentsClient, useValue: provider },
        { provide: LOGGER, useValue: logger },
        Readiness,
        Metrics,
        AdmissionMetrics,
        BusinessMetrics,
        Signatures,
        SignedLinks,
        CheckoutChanges,
        LinkReads,
        CheckoutPresenter,
        CheckoutsRepository,
        Watches,
        CheckoutStarts,
        Cursors,
        EventTailWatch,
        Acceptance,
        ProviderStatus,
        AvailabilityService,
        CheckoutsService,
        AttemptsService,
        RefundsService,
        ReceiptsService,
        StreamsService,
        WaitingService,
        SourceCheck,
        QrService,
        WebhooksService,
        CodecService,
        ReconciliationsService,
        DayReportsService,
        EndpointLinks,
        EventEndpointsService,
        CodecLinks,
        TillTokens,
        OpenLinks,
        CounterService,
        { provide: APP_GUARD, useClass: PlaceGuard },
        ...RESOURCE_PROVIDERS,
      ],
    };
  }
}
