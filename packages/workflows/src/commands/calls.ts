import { proxyActivities } from '@temporalio/workflow';
import type { Lookup } from '../shared/lookup.js';
import { mutatingOptions, readingOptions, toLookup, toOutcome } from '../shared/activity-options.js';
import type {
  ChangeCall,
  CommandActivities,
  CommandOutcome,
  CreatePlanCall,
  FindPlansCall,
  FoundPlan,
  MadeOtherwise,
  RetrievePlanCall,
} from './activities.js';
import type { Change } from './command.js';

const provider = proxyActivities<CommandActivities>({
  scheduleToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});

export function createPlan(call: CreatePlanCall): Promise<CommandOutcome | MadeOtherwise> {
  return toOutcome(provider.createPlan.executeWithOptions(mutatingOptions(call, 'Create the plan'), [call]));
}

export function change(call: ChangeCall): Promise<CommandOutcome> {
  return toOutcome(provider.changeAtProvider.executeWithOptions(mutatingOptions(call, inWords(call.change)), [call]));
}

export function findPlans(call: FindPlansCall): Promise<Lookup<readonly FoundPlan[]>> {
  return toLookup(provider.findPlans.executeWithOptions(readingOptions('Search the plan'), [call]));
}

export function retrievePlan(call: RetrievePlanCall): Promise<Lookup<FoundPlan>> {
  return toLookup(provider.retrievePlan.executeWithOptions(readingOptions(`Retrieve ${call.plan}`), [call]));
}

/** For people, with ids only. */
function inWords(change: Change): string {
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
      return 'Move the account to the newest version';
    case 'delete_document':
      return `Delete ${change.document} of ${change.dispute}`;
  }
}
