import { formatMoney } from '@tillflow/domain';
import { proxyActivities } from '@temporalio/workflow';
import { mutatingOptions, readingOptions, toLookup, toOutcome } from '../shared/activity-options.js';
import type { PaymentActivities } from './activities.js';
import type { ProviderCalls } from './execute-step.js';

const provider = proxyActivities<PaymentActivities>({
  scheduleToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});

/** The worker's activities, each with the summary that the Temporal UI shows. */
export const providerCalls: ProviderCalls = {
  createSource: (call) => {
    const options = mutatingOptions(call, `Create a source of ${formatMoney(call)}`);
    return toOutcome(provider.createSource.executeWithOptions(options, [call]));
  },
  createCharge: (call) => {
    const options = mutatingOptions(call, `Charge ${formatMoney(call)} on ${call.sourceId}`);
    return toOutcome(provider.createCharge.executeWithOptions(options, [call]));
  },
  expireCharge: (call) => {
    const options = mutatingOptions(call, `Expire ${call.chargeId}`);
    return toOutcome(provider.expireCharge.executeWithOptions(options, [call]));
  },
  createRefund: (call) => {
    const what = `${call.asVoid ? 'Void' : 'Refund'} ${formatMoney(call)} of ${call.chargeId}`;
    return toOutcome(provider.createRefund.executeWithOptions(mutatingOptions(call, what), [call]));
  },
  retrieveCharge: (chargeId) => {
    const options = readingOptions(`Retrieve ${chargeId}`);
    return toLookup(provider.retrieveCharge.executeWithOptions(options, [{ chargeId }]));
  },
  findCharges: (call) => {
    const options = readingOptions(`Search charges of ${call.sourceId ?? call.checkoutId}`);
    return toLookup(provider.findCharges.executeWithOptions(options, [call]));
  },
};
