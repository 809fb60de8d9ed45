import type { PaymentsClient, RequestOptions } from '@tillflow/payments-client';
import type { Order } from './order.js';

/** Reads the record that an order is to change; null for an order that makes one, or is about the account. */
export function targetAtProvider(
  provider: PaymentsClient,
  order: Order,
): ((options: RequestOptions) => Promise<unknown>) | null {
  switch (order.kind) {
    case 'stop_plan':
      return (options) => provider.schedules.retrieve(order.plan, options);
    case 'update_card':
    case 'remove_card':
      return (options) => provider.customers.retrieveCard(order.customer, order.card, options);
    case 'delete_document':
      return (options) => provider.disputes.retrieveDocument(order.dispute, order.document, options);
    case 'create_plan':
    case 'update_account':
    case 'upgrade_api_version':
      return null;
  }
}
