"""The Portal: an artist's tracks, defaults and profile, the form to upload, progress of uploads and jobs."""

import dataclasses

from readapi.answers import Answer
from readapi.errors import (
    ApiError,
    ArtistProfileRequired,
    AudienceUnavailable,
    Conflict,
    InvalidRequest,
    NotFound,
    NotOwner,
    TooLarge,
    UnsupportedMediaType,
)
from readapi.http.request.cookies import Cookies
from readapi.http.request.headers import Accept
from readapi.http.viewer import InSession
from readapi.index.cursors import Cursor
from readapi.pages import form_errors, notices, responses
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal.forms import LikesForm, ProfileForm, TemplateForm, UploadForm
from readapi.pages.portal.pages import PortalPages
from readapi.pages.portal.rights_form import RightsForm
from readapi.pds.records import images, profiles
from readapi.pds.repo import REFUSALS, Pds
from readapi.pds.writing import Writing
from readapi.publishing.access.policies import Policies, check_consistency
from readapi.publishing.uploads.receive import UploadIntake
from readapi.state.publishing.preferences import Preferences
from readapi.state.publishing.profile_visibility import ProfileVisibility
from readapi.state.state import State
from schemas.settings import Settings

routes = PageRoutes()


@routes.page("/portal")
async def portal(
    who: InSession | None,
    desk: PortalPages,
    cookies: Cookies,
    note: str | None = None,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show an artist's tracks, and the form to publish one; to others, the sign-in page."""
    if who is None:
        return responses.sign_in("portal", note)
    shown = await desk.front(who, note=notices.find_notice(note, who.name), cursor=cursor)
    renewed = cookies.session(who.session_id) if who.by_cookie else {}
    return shown._replace(headers={**shown.headers, **renewed})


@routes.page("/portal/defaults")
async def defaults_page(who: InSession | None, desk: PortalPages, note: str | None = None) -> Answer[str]:
    """Show the Portal template and the rights metadata, with forms to change them."""
    if who is None:
        return responses.sign_in("portal")
    return await desk.defaults(who, note=notices.find_notice(note))


@routes.page("/portal/profile")
async def profile_page(who: InSession | None, desk: PortalPages, note: str | None = None) -> Answer[str]:
    """Show the artist's profile, with the form to change it."""
    if who is None:
        return responses.sign_in("portal")
    return await desk.profile(who, note=notices.find_notice(note))


@routes.deed("/portal/profile", requires=("profile", "blobs"), raises=(Conflict, TooLarge, *REFUSALS))
async def save_profile(
    sent: ProfileForm, who: InSession, accept: Accept, pds: Pds, writing: Writing, desk: PortalPages
) -> Answer[str]:
    """Create or change the artist profile. A new artist goes on to the Portal's first page."""
    page = "/portal/profile" if desk.is_artist(who) else "/portal"
    try:
        wanted, avatar = sent.wanted(), sent.avatar()
        image = await images.upload_image(pds, who, avatar) if avatar else None
        saved = await profiles.put_profile(writing, who, wanted, {} if avatar is None else {"avatar": image})
    except ApiError as error:
        tried = form_errors.form_errors("profile", sent, error, accept)
        return await desk.profile(who, tried)
    # Without a profile in the index, the first page would ask for one that was just saved.
    is_shown = desk.is_artist(who) or await writing.shown(saved.uri)
    return responses.redirect_with_notice(page, "profile-saved" if is_shown else "profile-saved-not-shown")


@routes.deed("/portal/profile/likes", form_on="/portal/profile")
async def choose_likes(
    sent: LikesForm, who: InSession, showing: ProfileVisibility, settings: Settings
) -> Answer[str]:
    """Choose whether others see on the profile which tracks the account likes."""
    shown = sent.show_liked_on_profile is not None
    await showing.choose(profiles.profile_uri(settings.collections, who.did), shown)
    return responses.redirect_with_notice("/portal/profile", "likes-shown" if shown else "likes-hidden")


@routes.deed("/portal/template", raises=(InvalidRequest, AudienceUnavailable))
async def save_template(
    sent: TemplateForm,
    who: InSession,
    accept: Accept,
    policies: Policies,
    state: State,
    desk: PortalPages,
) -> Answer[str]:
    """Save the Portal template, for new tracks without a template of their own or of their album."""
    try:
        template = sent.template()
        saved = await state.preferences.of(who.did)
        await policies.check(who, template, "settings", has_rights=saved.rights is not None)

        def change(saved: Preferences) -> Preferences:
            check_consistency(template, "settings", has_rights=saved.rights is not None)
            return dataclasses.replace(saved, publishing_defaults=template)

        await state.preferences.change(who.did, change)
    except ApiError as error:
        tried = form_errors.form_errors("template", sent, error, accept)
        return await desk.defaults(who, tried)
    return responses.redirect_with_notice("/portal/defaults", "template-saved")


@routes.deed("/portal/rights", raises=(InvalidRequest, Conflict))
async def save_rights(
    sent: RightsForm, who: InSession, accept: Accept, state: State, desk: PortalPages
) -> Answer[str]:
    """Save the owner and parties that templates attach, or remove them."""
    try:
        rights = sent.wanted()

        def change(saved: Preferences) -> Preferences:
            template = saved.publishing_defaults
            if rights is None and template is not None and template.attach_rights:
                raise Conflict(
                    "Your Portal template attaches your rights metadata; change the template first."
                )
            return dataclasses.replace(saved, rights=rights)

        await state.preferences.change(who.did, change)
    except ApiError as error:
        return await desk.defaults(who, form_errors.form_errors("rights", sent, error, accept))
    return responses.redirect_with_notice("/portal/defaults", "rights-saved")


@routes.deed(
    "/portal/uploads",
    requires=("track", "blobs"),
    raises=(ArtistProfileRequired, AudienceUnavailable, NotOwner, TooLarge, UnsupportedMediaType, *REFUSALS),
)
async def upload_track(
    sent: UploadForm, who: InSession, accept: Accept, receiving: UploadIntake, desk: PortalPages
) -> Answer[str]:
    """Publish a track; with its own template if the form answers any of a template's questions."""
    try:
        upload = await receiving.publish(who, sent.wanted(), sent.once, attaches=True)
    except ApiError as error:
        tried = form_errors.form_errors("upload", sent, error, accept, at="file")
        return await desk.front(who, tried)
    return responses.redirect_with_notice(f"/portal/uploads/{upload.id}", "upload-begun")


@routes.page("/portal/uploads/{upload_id}", raises=(NotFound,))
async def upload_page(
    upload_id: str, who: InSession | None, desk: PortalPages, note: str | None = None
) -> Answer[str]:
    """Show the progress of an upload."""
    if who is None:
        return responses.sign_in("portal")
    return await desk.upload(who, upload_id, notices.find_notice(note))


@routes.page("/portal/jobs/{job_id}", raises=(NotFound,))
async def job_page(
    job_id: str, who: InSession | None, desk: PortalPages, note: str | None = None
) -> Answer[str]:
    """Show the progress of a publishing job."""
    if who is None:
        return responses.sign_in("portal")
    return await desk.job(who, job_id, notices.find_notice(note))
