# scripts/quickstart.sh: what `make run` and `make run-cluster` have in common, read by both scripts:
# processes that end with them, ports, a Knot and `signpost provider` on loopback, and what Knot has
# to answer for examples/quickstart. The script that reads it sets `command` ("make run"), `run` (its
# folder) and the ports.

once=${ONCE:-}
zone=home.example
served=shop.example
ports=() # by their numbers, the variables that they are of
started=()
tied=() # what is started ends with this script, also when that is killed
if setpriv --pdeathsig TERM true 2>/dev/null; then
    tied=(setpriv --pdeathsig TERM)
fi
terminal=
for fd in 0 1 2; do
    [ -n "$terminal" ] || [ ! -t $fd ] || terminal=$fd
done

say() { echo "==> $*"; }
fail() {
    echo "${command#make }: $*" >&2
    exit 1
}

# One that has ended and that nobody has asked for yet is not, once its last thread has.
is_running() { # PID
    local pid=$1 stat
    read -r stat 2>/dev/null <"/proc/$pid/stat" || return 1
    set -- "/proc/$pid/task/"*
    [[ ${stat##*) } != [ZX]* ]] || (($# > 1))
}

await_end() { # PID: five seconds at most
    for _ in $(seq 50); do
        is_running "$1" || return 0
        sleep 0.1
    done
}

# They need not be children of this script, so `wait` alone would not wait for them.
end_all() { # PID...: the last one first
    local pid i
    for ((i = $#; i > 0; i--)); do
        kill -TERM "${!i}" 2>/dev/null || continue
    done
    for pid in "$@"; do
        await_end "$pid"
        kill -KILL "$pid" 2>/dev/null || true
        await_end "$pid"
        wait "$pid" 2>/dev/null || true
    done
}

leave() {
    trap - EXIT INT TERM
    trap '' HUP
    end_all "${started[@]}"
    rm -rf "$run"
}

began_at() { # PID: tells one process from a later one of the same number
    local stat
    read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
    stat=${stat##*) }
    set -- $stat
    echo "${20}"
}

note() { # PID: of ours, in the run folder
    echo "$1 $(began_at "$1")" >>"$run/pids"
}

end_left_overs() { # of an earlier one that was killed; the first in its list is its script
    local pid began left=() is_first=1
    [ -e "$run/pids" ] || return 0
    while read -r pid began; do
        if [ -n "$began" ] && [ "$(began_at "$pid")" = "$began" ]; then
            [ -z "$is_first" ] || fail "another '$command' works in $run (process $pid)"
            left+=("$pid")
        fi
        is_first=
    done <"$run/pids"
    [ ${#left[@]} -gt 0 ] || return 0
    say "ending what an earlier '$command' left in $run: processes ${left[*]}"
    end_all "${left[@]}"
}

need_port() { # PORT NAME OF-WHAT
    if [[ ! $1 =~ ^[0-9]{1,5}$ ]] || ((10#$1 < 1 || 10#$1 > 65535)); then
        fail "$2=$1 is no port for $3: expected a number from 1 to 65535"
    fi
    if [ -n "${ports[10#$1]:-}" ]; then
        fail "$2 and ${ports[10#$1]} are both $1; choose another for $3: $command $2=NUMBER"
    fi
    ports[10#$1]=$2
    if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then
        fail "port $1 on 127.0.0.1 is in use; choose another for $3: $command $2=NUMBER"
    fi
}

begin() { # NAME COMMAND...: starts it with its output in NAME.log
    local name=$1
    shift
    "${tied[@]}" "$@" >"$run/$name.log" 2>&1 &
    started+=($!)
    note $!
}

has_lost() { # the terminal, or who started this
    local stat
    read -r stat </proc/$$/stat
    stat=${stat##*) }
    set -- $stat
    [ "$2" != "$PPID" ] || { [ -n "$terminal" ] && [ ! -t "$terminal" ]; }
}

show_log() {
    echo "--- last lines of $1.log" >&2
    tail -n 15 "$run/$1.log" >&2 || true
}

wait_for() { # SECONDS WHAT LOG COMMAND...: the process that began last is up when this says so
    local tries=$(($1 * 20)) what=$2 log=$3
    shift 3
    until "$@" >"$run/wait.out" 2>&1; do
        tries=$((tries - 1))
        if ! kill -0 "${started[-1]}" 2>/dev/null; then
            show_log "$log"
            fail "$what ended by itself (log above)"
        fi
        if [ "$tries" -le 0 ]; then
            show_log "$log"
            fail "$what did not come up"
        fi
        sleep 0.05
    done
}

build_signpost() {
    say "building signpost"
    scripts/build release
    signpost=$PWD/build/release/src/signpost
}

make_folder() { # FOLDER...: the run folder with these in it; from here on leaving removes it
    if [ -e "$run" ] && [ ! -e "$run/made-by-make-run" ]; then
        fail "$run is there already and is not ours; choose another: $command RUN_DIR=FOLDER"
    fi
    rm -rf "$run"
    mkdir -p "$run"
    : >"$run/made-by-make-run"
    run=$(cd "$run" && pwd)
    (cd "$run" && mkdir "$@")
    trap leave EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    note $$
    chmod 700 "$run"
}

write_files() { # keys, the configuration of Knot, and what Signpost is told of it
    local tsig transfer
    tsig=$(openssl rand -base64 32)
    transfer=$(openssl rand -base64 32)
    (umask 077 && openssl rand -hex 32 | tr -d '\n' >"$run/hmac.key" &&
        printf '%s' "$tsig" >"$run/tsig.key" && printf '%s' "$transfer" >"$run/transfer.key")
    (umask 077 && cat >"$run/knot.conf") <<EOF
server:
    rundir: "$run/knot"
    listen: 127.0.0.1@$knot_port
database:
    storage: "$run/knot"
key:
  - id: signpost.
    algorithm: hmac-sha256
    secret: $tsig
  - id: transfer.
    algorithm: hmac-sha256
    secret: $transfer
remote:
  - id: signpost
    address: 127.0.0.1@$primary_port
    key: transfer.
acl:
  - id: signpost
    address: 127.0.0.1
    key: signpost.
    action: update
  - id: from-signpost
    address: 127.0.0.1
    key: transfer.
    action: notify
zone:
  - domain: $zone
    storage: "$run/knot"
    file: zone.db
    acl: signpost
  - domain: $served
    storage: "$run/knot"
    file: served.db
    master: signpost
    acl: from-signpost
log:
  - target: stderr
    any: info
EOF
    cat >"$run/knot/zone.db" <<EOF
$zone. 60 SOA ns.$zone. hostmaster.$zone. 1 3600 600 86400 60
$zone. 60 NS ns.$zone.
ns.$zone. 60 A 127.0.0.1
EOF
    cat >"$run/zones.yaml" <<EOF
keys:
  - {name: transfer., algorithm: hmac-sha256, secretFile: transfer.key}
groups:
  - name: default
    servers:
      - {name: knot, address: 127.0.0.1, port: $knot_port, key: transfer.}
EOF
}

write_manifests() { # the example's, with the port and the key that both sides share
    cp examples/quickstart/*.yaml "$run/manifests/"
    sed -i "s|http://127.0.0.1:7100|http://127.0.0.1:$provider_port|" "$run/manifests/class.yaml"
    (umask 077 && cat >"$run/manifests/secret.yaml") <<EOF
apiVersion: v1
kind: Secret
metadata:
  name: home-dns
stringData:
  hmac: $(cat "$run/hmac.key")
EOF
}

start_knot() {
    say "starting Knot DNS on 127.0.0.1:$knot_port for the zones $zone and $served"
    begin knot knotd -c "$run/knot.conf"
    wait_for 10 Knot knot answers_soa
}
answers_soa() { kdig +short +time=1 +retry=0 @127.0.0.1 -p "$knot_port" "$zone" SOA | grep -q .; }

start_provider() {
    say "starting signpost provider on 127.0.0.1:$provider_port (signed webhook -> DNS UPDATE)"
    begin provider "$signpost" provider --listen "127.0.0.1:$provider_port" --backend rfc2136 \
        --server "127.0.0.1:$knot_port" --zone "$zone" --tsig-name signpost \
        --tsig-secret-file "$run/tsig.key" --hmac-secret-file "$run/hmac.key" --state "$run/state"
    wait_for 10 "the provider" provider is_listening "$provider_port"
}
is_listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }

right=("AAAA www.$zone 2001:db8::10" "A www.$zone 192.0.2.10 192.0.2.11"
    "CNAME blog.$zone www.$zone." "MX $zone 10 mail.$zone." "A mail.$zone 192.0.2.25"
    "SRV _imaps._tcp.$zone 0 1 993 mail.$zone." "TXT $zone \"v=spf1 mx -all\""
    "NS $served ns1.$served. ns2.$served." "A ns1.$served 192.0.2.53" "A $served 192.0.2.80"
    "A www.$served 192.0.2.80 192.0.2.81" "CNAME cart.$served www.$served."
    "CAA $served 0 issue \"ca.example\"")
missing() { # prints the first answer that is not right yet
    local row type name wanted got
    for row in "${right[@]}"; do
        read -r type name wanted <<<"$row"
        [[ "$type" = A || "$type" = NS ]] && wanted=$(tr ' ' '\n' <<<"$wanted")
        got=$(kdig +short +time=1 +retry=0 @127.0.0.1 -p "$knot_port" "$name" "$type" |
            sed 's/ *$//' | sort)
        [ "$got" = "$wanted" ] || {
            echo "$name $type: expected $(tr '\n' ' ' <<<"$wanted"), Knot answers ${got:-nothing}"
            return 0
        }
    done
    return 1
}
told() { # OBJECT REASON
    { "${ask[@]}" 2>&1 || true; } | grep -E "$1 .*$2" >"$run/told.out"
}

wait_until_right() { # SETTLED LOG...: until that command says so, or a process ended
    local settled=$1 tries=600 pid log
    shift
    until "$settled"; do
        tries=$((tries - 1))
        for pid in "${started[@]}"; do
            kill -0 "$pid" 2>/dev/null || {
                for log in knot "$@"; do show_log "$log"; done
                fail "a process ended by itself (logs above)"
            }
        done
        if [ "$tries" -le 0 ]; then
            for log in "$@"; do show_log "$log"; done
            "${ask[@]}" >&2 || true
            fail "the answers are not right after 30 s: $(cat "$run/missing.out")"
        fi
        sleep 0.05
    done
}
