#!/bin/sh
# Warms shards of a dataset on this node. Written by Mooring and repaired by it: changes here do not last.
#
#   warm.sh fetch  COUNT FETCH...            fetch every shard: as many attempts as allowed, each resuming the last
#   warm.sh verify COUNT FETCH... VERIFY...  prove every shard; what is wrong is thrown away and fetched again
#   warm.sh warm                             put the new data in the place of the old
#
# COUNT is how many words the fetch command has. Commands find MOORING_SHARD, MOORING_SHARD_PATH (where to write),
# MOORING_ATTEMPT, MOORING_DATASET, MOORING_GENERATION and MOORING_SHARDS in their environment.
set -u
local_path="${MOORING_ROOT:-}$MOORING_LOCAL_PATH"
store="$local_path/.mooring/$MOORING_DATA_KEY"

say() { echo "mooring: $*"; }

enter() { # SHARD
    MOORING_SHARD=$1
    MOORING_SHARD_PATH="$store/$(printf '%02d' "$1")"
    mark="$MOORING_SHARD_PATH.fetched"
    export MOORING_SHARD MOORING_SHARD_PATH
    mkdir -p "$MOORING_SHARD_PATH" || exit 1
}

run_fetch() { # COUNT WORDS... : the first COUNT words are the command
    count=$1; shift
    rest=$(($# - count))
    while [ "$count" -gt 0 ]; do set -- "$@" "$1"; shift; count=$((count - 1)); done
    shift "$rest"
    "$@"
}

run_verify() { # COUNT WORDS... : what follows the first COUNT words
    count=$1; shift
    shift "$count"
    "$@"
}

fetch_shard() { # COUNT WORDS...
    if [ "$(cat "$mark" 2>/dev/null)" = "$MOORING_ORDER" ]; then
        say "shard $MOORING_SHARD is here already"
        return 0
    fi
    attempt=1
    while :; do
        MOORING_ATTEMPT=$attempt
        export MOORING_ATTEMPT
        say "shard $MOORING_SHARD: fetching, attempt $attempt of $MOORING_ATTEMPTS"
        if run_fetch "$@"; then
            printf '%s' "$MOORING_ORDER" >"$mark.new" && mv -f "$mark.new" "$mark"
            return 0
        fi
        [ "$attempt" -lt "$MOORING_ATTEMPTS" ] || break
        say "shard $MOORING_SHARD: attempt $attempt failed, again in $MOORING_ATTEMPT_DELAY_SECONDS s"
        sleep "$MOORING_ATTEMPT_DELAY_SECONDS"
        attempt=$((attempt + 1))
    done
    say "shard $MOORING_SHARD: $attempt attempts failed"
    return 1
}

verify_shard() { # COUNT WORDS...
    if run_verify "$@"; then
        say "shard $MOORING_SHARD: the content is right"
        return 0
    fi
    say "shard $MOORING_SHARD: the content is wrong, it is fetched again from nothing"
    rm -rf "$MOORING_SHARD_PATH" "$mark"
    enter "$MOORING_SHARD"
    [ "$1" -gt 0 ] && fetch_shard "$@" && run_verify "$@"
}

# A link made where a folder is would land inside it, and the folder would go on being served.
free_place() { # PLACE
    [ -L "$1" ] || [ ! -e "$1" ] && return 0
    aside="$1.before-mooring"
    if [ -e "$aside" ] || [ -L "$aside" ] || ! mv "$1" "$aside"; then
        say "shard $MOORING_SHARD: $1 is not a link of Mooring and cannot be set aside as $aside: move $1 away"
        return 1
    fi
    say "shard $MOORING_SHARD: what was in $1 is in $aside now"
}

publish_shard() {
    name=$(printf '%02d' "$MOORING_SHARD")
    place="$local_path/$name"
    free_place "$place" || return 1
    ln -sfn ".mooring/$MOORING_DATA_KEY/$name" "$place" || return 1
    if ! [ "$place" -ef "$MOORING_SHARD_PATH" ]; then
        say "shard $MOORING_SHARD: $place does not lead to $MOORING_SHARD_PATH"
        return 1
    fi
    for other in "$local_path/.mooring/"*"/$name"; do
        [ "$other" = "$MOORING_SHARD_PATH" ] || rm -rf "$other" "$other.fetched"
    done
    say "shard $MOORING_SHARD is warm"
}

step=$1; shift
for shard in $MOORING_SHARD_LIST; do
    enter "$shard"
    case $step in
        fetch) fetch_shard "$@" || exit 1 ;;
        verify) verify_shard "$@" || exit 1 ;;
        warm) publish_shard || exit 1 ;;
    esac
done
