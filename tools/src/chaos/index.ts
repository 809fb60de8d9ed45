export {
  audit,
  AUDITED_SECTIONS,
  GUARANTEES,
  type Audited,
  type Breach,
  type Findings,
  type Guarantee,
  type ProviderBooks,
} from './audit.js';
export { runCampaign, type CampaignOptions, type CampaignResult } from './campaign.js';
