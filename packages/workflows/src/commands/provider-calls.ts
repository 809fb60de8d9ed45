import { proxyActivities } from '@temporalio/workflow';
import { mutatingOptions, readingOptions, toLookup, toOutcome } from '../shared/activity-options.js';
import type { Lookup } from '../shared/lookup.js';
import type {
  ChangeCall,
  CommandActivities,
  CommandOutcome,
  CreatedOtherwise,
  CreatePlanCall,
  FindPlansCall,
  FoundPlan,
  RetrievePlanCall,
} from './activities.js';
import type { Change } from './messages.js';

const provider = proxyActivities<CommandActivities>({
  scheduleToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});

export function createPlan(call: CreatePlanCall): Promise<CommandOutcome | CreatedOtherwise> {
  return toOutcome(provider.createPlan.executeWithOptions(mutatingOptions(call, 'Create the plan'), [call]));
}

export function change(call: ChangeCall): Promise<CommandOutcome> {
  return toOutcome(provider.changeAtProvider.executeWithOptions(mutatingOptions(call, summaryOf(call.change)), [call]));
}

export function findPlans(call: FindPlansCall): Promise<Lookup<readonly FoundPlan[]>> {
  return toLookup(provider.findPlans.executeWithOptions(readingOptions('Search for the plan'), [call]));
}

export function retrievePlan(call: RetrievePlanCall): Promise<Lookup<FoundPlan>> {
  return toLookup(provider.retrievePlan.executeWithOptions(readingOptions(`Retrieve ${call.plan}`), [call]));
}

/** For people; contains ids only. */
function summaryOf(change: Change): string {
  switch (change.kind) {
    case 'stop_plan':
      return `Stop ${change.plan}`;
    case 'update_card':
      return `Update ${change.card} of ${change.customer}`;
    case 'remove_card':
      return `Remove ${change.card} of ${change.customer}`;
    case 'update_account':
      return 'Update the account';
    case 'upgrade_api_version':
      return 'Upgrade the API version of the account';
    case 'delete_document':
      return `Delete ${change.document} of ${change.dispute}`;
  }
}
