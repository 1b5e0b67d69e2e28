"""Webhooks: changes of the live feed, sent to an address of the owner of a developer token."""

from readapi.errors import Conflict, InvalidRequest, NotFound
from readapi.http.endpoint import Routes
from readapi.http.viewer import SignedIn
from readapi.webhooks.own import OwnWebhooks, describe
from schemas import datetimes
from schemas.api import webhooks as shapes

routes = Routes("webhooks")


@routes.get("/webhooks")
async def list_webhooks(who: SignedIn, own: OwnWebhooks) -> shapes.Webhooks:
    """List your webhooks with their state; of a developer token, its own."""
    return await own.list_own(who)


@routes.post("/webhooks", raises=(InvalidRequest, NotFound, Conflict))
async def create_webhook(sent: shapes.WantedWebhook, who: SignedIn, own: OwnWebhooks) -> shapes.NewWebhook:
    """Create a webhook: what the live feed tells is sent to an address of yours, signed.

    The answer has the secret, once. docs/webhooks.md describes deliveries, signatures and retries.
    """
    created = await own.create(who, sent)
    return shapes.NewWebhook(webhook=describe(created.webhook), secret=created.secret)


@routes.post("/webhooks/{webhook_id}/rotate", raises=(NotFound,))
async def rotate_webhook_secret(webhook_id: str, who: SignedIn, own: OwnWebhooks) -> shapes.NewSecret:
    """Replace the secret of a webhook. For a day deliveries are signed with both."""
    secret, until = await own.rotate(who, webhook_id)
    return shapes.NewSecret(secret=secret, previous_until=datetimes.render(until))


@routes.post("/webhooks/{webhook_id}/resume", raises=(NotFound,))
async def resume_webhook(webhook_id: str, who: SignedIn, own: OwnWebhooks) -> shapes.Webhook:
    """Resume a webhook that is paused, or try again at once. It goes on from its cursor."""
    return await own.resume(who, webhook_id)


@routes.delete("/webhooks/{webhook_id}", raises=(NotFound,))
async def delete_webhook(webhook_id: str, who: SignedIn, own: OwnWebhooks) -> None:
    """Delete a webhook. Nothing is sent from then on."""
    await own.remove(who, webhook_id)
