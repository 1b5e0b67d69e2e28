-- The catalogue. Everything here can be rebuilt from the network, except first-seen dead letters.
--
-- `key` is the first 64 bits of SHA-256 of a record's at-uri: what tables join on.
-- `state` of a record: live, withheld (by labels; only its account meets it), takendown (by our operator; whole,
-- and not shown), invalid (hidden; see invalid_records) or deleted (a tombstone, so that nothing is resurrected
-- by an older rev).  Columns after `verified_at` are null unless it is live, withheld or takendown.
-- `verified` says how we know a version: commit (proven by a signed commit of the stream), repo (by the whole
-- repo), proof (by the record's own proof), unverified (taken on a host's word); `verified_at`: since when.
-- `indexed_at` is the instant that the record's key claims when that is a TID, but never later than the rev;
-- of a profile, the instant that the rev claims.
-- Times are UTC.
--
-- `schemas/steps.py` carries older catalogues over: whoever changes a table adds a step there.
--
-- There are no indexes: keys are hashes, and an index over them makes every checkpoint 13 times slower
-- (0.78 s against 0.06 s at a million likes).  One process writes, and sees to it that keys are unique.
-- To read a few rows of a big table: where rowid in (select rowid from t where key in (1, 2, 3)).

create table if not exists meta (
    name varchar not null,
    value varchar not null
);

-- The low-water mark of finished work, per sequence space.
create table if not exists cursors (
    source varchar not null,
    seq bigint not null,
    event_time timestamp
);

-- Every account that ever wrote a record of ours.
create table if not exists accounts (
    did varchar not null,
    handle varchar,            -- null: not resolved so far; handle.invalid: does not hold both ways
    pds varchar,               -- origin of the account's server
    signing_key varchar,       -- multibase, as in the DID document
    resolved_at timestamp,     -- when the three were last asked for
    status varchar not null,   -- active, deactivated, takendown, suspended, deleted, …
    status_time timestamp,     -- time of the #account event that said so
    refusal varchar,           -- why its server does not give the repo; null: it does, or was not asked
    removed_rev varchar,       -- commits up to this rev were removed with the account
    stale boolean not null     -- the identity wants resolving
);

-- How far each account's repo is known: `indexer/sync/states.py` tells what the states mean.
create table if not exists repos (
    did varchar not null,
    state varchar not null,    -- pending, active, desynchronized, error
    rev varchar,               -- of the newest commit that is applied; null: none
    data blob,                 -- CID of that commit's tree
    must_fetch boolean not null,  -- only fetching all of it can put it in step
    reason varchar             -- why it is not active
);

-- How far the lists of repos with records of ours are read, to their end at `finished_at`.
create table if not exists discoveries (
    source varchar not null, collection varchar not null, cursor varchar, finished_at timestamp
);

-- Commits of repos that are not active, as they came: replayed when their repo is in step again.
create table if not exists waiting_commits (
    did varchar not null, rev varchar not null, received_at timestamp not null,
    source varchar not null, seq bigint, raw blob not null
);

create table if not exists tracks (
    key bigint not null, uri varchar not null, did varchar not null, rkey varchar not null,
    rev varchar not null, cid varchar, indexed_at timestamp not null, state varchar not null,
    verified varchar not null, verified_at timestamp not null,
    id bigint not null,
    title varchar, artist varchar, file_type varchar, created_at timestamp,
    audio_cid varchar, audio_mime varchar, audio_bytes bigint, audio_url varchar,
    duration integer, album varchar, description varchar,
    image_cid varchar, image_url varchar,
    listening varchar, downloads varchar, visibility varchar, policy_origin varchar,
    labels varchar[], rights varchar,  -- rights: JSON as in the record
    updated_at timestamp
);

create table if not exists track_tags (track_key bigint not null, position integer not null, tag varchar not null);
create table if not exists track_features (track_key bigint not null, position integer not null, did varchar not null);

create table if not exists likes (
    key bigint not null, uri varchar not null, did varchar not null, rkey varchar not null,
    rev varchar not null, cid varchar, indexed_at timestamp not null, state varchar not null,
    verified varchar not null, verified_at timestamp not null,
    pair bigint,               -- record_key of `did subject_uri`: one person's liking of one track
    subject_key bigint, subject_uri varchar, created_at timestamp
);

create table if not exists comments (
    key bigint not null, uri varchar not null, did varchar not null, rkey varchar not null,
    rev varchar not null, cid varchar, indexed_at timestamp not null, state varchar not null,
    verified varchar not null, verified_at timestamp not null,
    id bigint not null,
    subject_key bigint, subject_uri varchar, body varchar, timestamp_ms bigint,
    created_at timestamp, updated_at timestamp
);

create table if not exists lists (
    key bigint not null, uri varchar not null, did varchar not null, rkey varchar not null,
    rev varchar not null, cid varchar, indexed_at timestamp not null, state varchar not null,
    verified varchar not null, verified_at timestamp not null,
    name varchar, list_type varchar, description varchar, image_cid varchar,
    created_at timestamp, updated_at timestamp
);

create table if not exists list_items (
    list_key bigint not null, position integer not null,
    subject_key bigint not null, subject_uri varchar not null, subject_cid varchar
);

create table if not exists profiles (
    key bigint not null, uri varchar not null, did varchar not null, rkey varchar not null,
    rev varchar not null, cid varchar, indexed_at timestamp not null, state varchar not null,
    verified varchar not null, verified_at timestamp not null,
    display_name varchar, bio varchar, avatar_cid varchar, support_url varchar,
    created_at timestamp, updated_at timestamp
);

-- Records that do not validate: hidden, kept as they came, with why. Reasons: one sentence per line.
create table if not exists invalid_records (
    key bigint not null, collection varchar not null, uri varchar not null, rev varchar not null,
    cid varchar, reasons varchar not null, record blob not null
);

-- Counters per subject, moved by delta in the transaction that changes what they count.
-- People of hidden accounts do not count; the subject need not exist (yet).
create table if not exists track_counts (
    subject_key bigint not null,
    likes bigint not null, comments bigint not null, plays bigint not null
);

-- True sizes of images, measured once: the thumbnail fields of oEmbed.
create table if not exists images (
    cid varchar not null, width integer not null, height integer not null  -- 0 × 0: not an image
);

-- What the operator has taken down: DIDs, at-uris of records, CIDs of recordings. Follows the state database.
create table if not exists takedowns (
    subject varchar not null
);

-- What labelers and our operator say of accounts and records: of labels with the same source, subject, cid and
-- value the newest, with its `state`: stands, negated or expired.  `key` is that of the subject, a DID or at-uri.
create table if not exists labels (
    key bigint not null, did varchar not null, subject varchar not null,
    source varchar not null,   -- DID of the labeler, or of this service: its operator's
    cid varchar,               -- of the version that it is about; null: every version
    value varchar not null,
    cts timestamp not null, expires_at timestamp,
    state varchar not null
);

-- What follows from them, by `schemas/label_policy.py`: adult or hidden.
create table if not exists label_effects (
    key bigint not null,       -- of the subject
    account varchar,           -- the subject, where that is an account
    cid varchar, effect varchar not null
);

-- Search documents that a transaction made stale; Tantivy follows with its own watermark.
create table if not exists outbox (
    op bigint not null,
    kind varchar not null,     -- track, rank, count, like, comment, list: key · artist, person, tag: name
    key bigint,
    name varchar               -- of a like: its only live record, empty: none, null: to be looked up
);

-- Changes of what is published, of one transaction each, until they are safe in the files of the change log.
create table if not exists change_log (
    position bigint not null,  -- of the last of them
    frame blob not null        -- as `schemas/change_log.py` describes it
);

-- Input that could not be used, as it came. Bounded; the oldest go first.
create table if not exists dead_letters (
    received_at timestamp not null, source varchar not null, seq bigint, did varchar,
    reason varchar not null, raw blob not null
);

-- Visible is what is live and whose account is neither hidden by its status nor taken down.  Who reads a few rows by rowid, which
-- views have not, says that again.
create view if not exists away_accounts as
    select did from accounts where status not in ('active', 'throttled', 'desynchronized');

create view if not exists hidden_accounts as
    select did from accounts
    where did in (select did from away_accounts) or refusal is not null or did in (select subject from takedowns)
        or did in (select account from label_effects where effect = 'hidden' and account is not null);

create view if not exists visible_tracks as
    select * exclude (state) from tracks
    where state = 'live' and did not in (select did from hidden_accounts);

-- Tracks for adults, by their own labels or others'.
create view if not exists adult_tracks as
    select key from tracks
    where list_has_any(labels, ['porn', 'sexual', 'nudity', 'sexual-figurative', 'graphic-media', 'gore', 'corpse', 'nsfl'])
        or did in (select account from label_effects where effect = 'adult' and account is not null)
        or key in (select key from label_effects where effect = 'adult' and cid is null)
        or (key, cid) in (select (key, cid) from label_effects where effect = 'adult' and cid is not null);

-- What lists, counts, exports and site maps tell everybody of.
create view if not exists listed_tracks as
    select * from visible_tracks where visibility = 'public' and key not in (select key from adult_tracks);

create view if not exists visible_likes as
    select * exclude (state) from likes
    where state = 'live' and did not in (select did from hidden_accounts);

create view if not exists visible_comments as
    select * exclude (state) from comments
    where state = 'live' and did not in (select did from hidden_accounts);

create view if not exists visible_lists as
    select * exclude (state) from lists
    where state = 'live' and did not in (select did from hidden_accounts);

create view if not exists listed_lists as
    select * from visible_lists
    where did not in (select account from label_effects where effect = 'adult' and account is not null)
        and key not in (select key from label_effects where effect = 'adult' and cid is null)
        and (cid is null or (key, cid) not in (
            select (key, cid) from label_effects where effect = 'adult' and cid is not null
        ));
