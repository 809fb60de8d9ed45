import { AccountController } from './account/account.controller.js';
import { AccountService } from './account/account.service.js';
import { Commands } from './commands/commands.service.js';
import { CustomersController } from './customers/customers.controller.js';
import { CustomersService } from './customers/customers.service.js';
import { DisputesController } from './disputes/disputes.controller.js';
import { DisputesService } from './disputes/disputes.service.js';
import { EvidenceService } from './disputes/evidence.service.js';
import { SameDocument } from './disputes/same-document.js';
import { PlansController } from './plans/plans.controller.js';
import { PlansService } from './plans/plans.service.js';
import { ProviderLists } from './provider/provider-lists.js';
import { ProviderReads } from './provider/provider-reads.js';
import { RecordsController } from './records/records.controller.js';
import { RecordsService } from './records/records.service.js';
import { TestModeController } from './test-mode/test-mode.controller.js';
import { TestModeService } from './test-mode/test-mode.service.js';

/** The routes of the provider's resources beyond checkouts. */
export const RESOURCE_CONTROLLERS = [
  PlansController,
  DisputesController,
  CustomersController,
  AccountController,
  RecordsController,
  TestModeController,
];

/** What those routes need. */
export const RESOURCE_PROVIDERS = [
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
