/**
 * Events of Stripe, kept in order per object: what happens to one subscription happens in the order Stripe told it.
 *
 *   STRIPE_WEBHOOK_SECRET=whsec_… npx lanehead serve examples/stripe.ts --namespace acme
 *
 * At Stripe: endpoint URL https://<host>/in/acme/stripe/events. While a secret is rolled, list both with a comma.
 */
import { definePack, signatures } from 'lanehead';

interface StripeEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly object: { readonly id?: string; readonly customer?: string | null } };
}

const isInvoice = (type: string): boolean => type.startsWith('invoice.');

export default definePack({
  name: 'stripe',
  version: '1.0.0',
  routes: {
    events: {
      version: 1,
      verify: signatures.stripe({ secret: () => process.env.STRIPE_WEBHOOK_SECRET?.split(',') }),
      materialize: (receipt) => {
        const { id, type, data } = receipt.json() as StripeEvent;
        const sourceKey = data.object.id ?? data.object.customer ?? 'account';
        // Stripe's own id, so that an event delivered twice is one event, whatever signature it came with.
        return { deliveries: [{ key: id, events: [{ type, sourceKey, idempotencyKey: id }] }] };
      },
      // A payment that could not be booked must not be overtaken: the lane waits until a person decides.
      onDead: 'hold',
      retry: { attempts: 5, baseMs: 2_000 },
      flow: (event, ctx) => {
        if (!isInvoice(event.type)) ctx.skip('only invoices are booked');
        ctx.log.info('invoice to book', { type: event.type, invoice: event.sourceKey });
      },
    },
  },
});
