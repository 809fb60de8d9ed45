import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { PaymentsClient } from '@tillflow/payments-client';
import type { Temporal } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { Signatures } from './auth/signatures.js';
import { SignedLinks } from './auth/signed-links.js';
import { AttemptsService } from './checkouts/attempts.service.js';
import { CheckoutsController } from './checkouts/checkouts.controller.js';
import { CheckoutsRepository } from './checkouts/checkouts.repository.js';
import { CheckoutsService } from './checkouts/checkouts.service.js';
import { EventTailWatch } from './checkouts/event-tail-watch.js';
import { CustomerLooks } from './checkouts/customer-looks.js';
import { CheckoutNews } from './checkouts/news.js';
import { CheckoutPresenter } from './checkouts/presenter.js';
import { QrService } from './checkouts/qr.service.js';
import { RefundsController } from './checkouts/refunds.controller.js';
import { RefundsService } from './checkouts/refunds.service.js';
import { SourceCheck } from './checkouts/source-check.js';
import { Cursors } from './checkouts/cursor.js';
import { CodecController } from './codec/codec.controller.js';
import { CodecLinks } from './codec/codec-links.js';
import { CodecService } from './codec/codec.service.js';
import { Limits } from './edge/limits.js';
import { HealthController } from './health/health.controller.js';
import { Readiness } from './health/readiness.js';
import { LOGGER } from './logger.provider.js';
import { AdmissionMetrics } from './metrics/admission.js';
import { BusinessMetrics } from './metrics/business.js';
import { MetricsController } from './metrics/metrics.controller.js';
import { Metrics } from './metrics/metrics.js';
import { ErrorsController } from './problems/errors.controller.js';
import { ReconciliationsController } from './reconciliations/reconciliations.controller.js';
import { ReconciliationsService } from './reconciliations/reconciliations.service.js';
import { RESOURCE_CONTROLLERS, RESOURCE_PROVIDERS } from './resources.js';
import { placesIn } from './settings.js';
import { Settings } from './settings.provider.js';
import { StreamsController } from './streams/streams.controller.js';
import { StreamsService } from './streams/streams.service.js';
import { Watches } from './streams/watches.js';
import { TemporalAccess } from './temporal/temporal.provider.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';
import { WebhooksService } from './webhooks/webhooks.service.js';

export type AppParts = {
  readonly settings: Settings;
  readonly limits: Limits;
  readonly temporal: Temporal;
  readonly provider: PaymentsClient;
  readonly logger: Logger;
};

export const CONTROLLERS: Type[] = [
  CheckoutsController,
  RefundsController,
  StreamsController,
  WebhooksController,
  HealthController,
  MetricsController,
  CodecController,
  ReconciliationsController,
  ErrorsController,
  ...RESOURCE_CONTROLLERS,
];

@Module({})
export class AppModule {
  static of({ settings, limits, temporal, provider, logger }: AppParts): DynamicModule {
    return {
      module: AppModule,
      controllers: CONTROLLERS,
      providers: [
        { provide: Settings, useValue: settings },
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
        CheckoutNews,
        CustomerLooks,
        CheckoutPresenter,
        CheckoutsRepository,
        Cursors,
        EventTailWatch,
        CheckoutsService,
        AttemptsService,
        RefundsService,
        Watches,
        StreamsService,
        SourceCheck,
        QrService,
        WebhooksService,
        CodecService,
        ReconciliationsService,
        CodecLinks,
        ...RESOURCE_PROVIDERS,
      ],
    };
  }
}
