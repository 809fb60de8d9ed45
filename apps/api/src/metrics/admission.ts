import { Injectable } from '@nestjs/common';
import type { CallKind } from '@tillflow/temporal';
import { Counter, Gauge } from 'prom-client';
import { StreamsService } from '../streams/streams.service.js';
import { WaitingService } from '../streams/waiting.service.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { Metrics } from './metrics.js';

const KINDS: readonly CallKind[] = ['write', 'change', 'read', 'list', 'hint', 'background'];

/** What this process has in progress, and its limits, read for each scrape. */
@Injectable()
export class AdmissionMetrics {
  constructor(temporal: TemporalAccess, streams: StreamsService, waiting: WaitingService, { registry }: Metrics) {
    registry.registerMetric(openAnswers(streams, waiting));
    registry.registerMetric(calls(temporal));
    registry.registerMetric(refusals(temporal));
  }
}

function openAnswers(streams: StreamsService, waiting: WaitingService): Gauge {
  return new Gauge({
    name: 'tillflow_open_answers',
    help: 'Streams that are open (stream), and requests that wait for a change (wait).',
    labelNames: ['kind'],
    registers: [],
    collect() {
      this.set({ kind: 'stream' }, streams.openCount);
      this.set({ kind: 'wait' }, waiting.openCount);
    },
  });
}

function calls(temporal: TemporalAccess): Gauge {
  return new Gauge({
    name: 'tillflow_temporal_calls',
    help: 'Calls to Temporal that are in progress (busy) or wait for a place (waiting), by lane.',
    labelNames: ['lane', 'state'],
    registers: [],
    collect() {
      for (const kind of KINDS) {
        const { busy, waiting } = temporal.load(kind);
        this.set({ lane: kind, state: 'busy' }, busy);
        this.set({ lane: kind, state: 'waiting' }, waiting);
      }
    },
  });
}

function refusals(temporal: TemporalAccess): Counter {
  return new Counter({
    name: 'tillflow_temporal_refused_total',
    help: 'Calls to Temporal that were refused, and not sent, because no place became free in time, by lane.',
    labelNames: ['lane'],
    registers: [],
    collect() {
      this.reset();
      for (const kind of KINDS) this.inc({ lane: kind }, temporal.load(kind).refused);
    },
  });
}
