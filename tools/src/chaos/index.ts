export { runCampaign, type CampaignOptions, type CampaignResult } from './campaign.js';
export { chargesOf, COMPARED_SECTIONS, compareRecords, type ProviderRecords } from './records.js';
