# shellcheck shell=bash
# Sourced by image.sh: the guest's kernel, as LAB_KERNEL names it. Needs $LAB_DIR, $debs and die.
#
#   LAB_KERNEL=            the newest kernel of this host's Debian release
#   LAB_KERNEL=6.12        the newest 6.12 of Debian oldoldstable to stable and their backports
#   LAB_KERNEL=6.12.117    this one
#   LAB_KERNEL=FILE.deb[,FILE.deb...]    from 7.0 on linux-binary, linux-modules and linux-base
#   LAB_KERNEL=BZIMAGE     a kernel of your own, with LAB_MODULES=FOLDER: the INSTALL_MOD_PATH of
#                          its `make modules_install`

kernel_suites=(bullseye bullseye-security bookworm bookworm-security bookworm-backports
    trixie trixie-security trixie-backports)

# The name of this kernel's image folder, so that images of several kernels live side by side.
kernel_name() {
    local name=${LAB_KERNEL:-}
    if [[ $name == */* ]]; then
        echo "-$(basename "${name%%,*}")-$(kernel_files_stamp | sha256sum | cut -c -12)"
    else
        echo "${name:+-$name}"
    fi
}

# What tells a rebuilt kernel from the one before.
kernel_files_stamp() {
    local file
    for file in ${LAB_KERNEL//,/ }; do stat -c '%n %s %Y' "$file" || die "no such file: $file"; done
    [[ -z ${LAB_MODULES:-} ]] || find "$LAB_MODULES" -name modules.dep -printf '%p %s %T@\n'
}

# Fills FOLDER with lib/modules/VERSION and the file `packed`, the kernel that boots.
fetch_kernel() { # folder
    local folder=$1 kernel=${LAB_KERNEL:-} package list=() deb
    if [[ -z $kernel ]]; then
        package=$(newest_kernel)
        download "$package"
        list=("$(newest_deb "$package")")
    elif [[ $kernel == *.deb ]]; then
        IFS=, read -ra list <<<"$kernel"
    elif [[ $kernel == */* ]]; then
        own_kernel "$folder"
        return
    else
        download_kernel "$kernel"
        mapfile -t list < <(kernel_debs "$kernel")
    fi
    for deb in "${list[@]}"; do
        dpkg-deb -x "$deb" "$folder" || die "cannot extract $deb"
    done
    # From 7.0 on a package has usr/lib alone.
    [[ -d $folder/lib/modules ]] || ln -sfn usr/lib "$folder/lib"
    ln -s "$(first_of "$folder"/boot/vmlinuz-* "$folder"/usr/lib/modules/*/vmlinuz)" \
        "$folder/packed"
}

own_kernel() { # folder
    local modules=${LAB_MODULES:?set it to the INSTALL_MOD_PATH of make modules_install}
    [[ -d $modules/lib/modules ]] || die "$modules/lib/modules is missing (make modules_install)"
    cp -a "$modules/lib" "$1/lib"
    ln -s "$(realpath "$LAB_KERNEL")" "$1/packed"
}

newest_kernel() {
    local name
    name=$(apt-cache depends --important linux-image-amd64 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | head -n 1)
    [[ -n $name ]] || die "apt does not know linux-image-amd64 (apt-get update?)"
    echo "$name"
}

# The packages of a version that were downloaded: those of the newest image.
kernel_debs() { # version
    local folder=$LAB_DIR/kernels/$1
    find "$folder" -name '*.deb' 2>/dev/null
}

# Other releases' kernels come through apt with lists and settings of its own, below $LAB_DIR, so
# that this host's apt is not changed. The archive is the one that this host uses.
download_kernel() { # version
    local version=$1 folder=$LAB_DIR/kernels/$1 apt=$LAB_DIR/apt package
    [[ $version =~ ^[0-9]+\.[0-9]+(\.[0-9]+)?$ ]] ||
        die "LAB_KERNEL: expected a version (6.12), .deb files or the path of a bzImage," \
            "got '$version'"
    [[ -z $(kernel_debs "$version") ]] || return 0
    rm -rf "$folder.part" # what a download that failed left
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial} "$folder.part"
    cat >"$apt/conf" <<CONF
Dir::State "$apt/state"; Dir::State::status "/var/lib/dpkg/status"; Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources"; Dir::Etc::sourceparts "-";
APT::Sandbox::User "root"; Acquire::Languages "none";
CONF
    kernel_sources >"$apt/sources"
    export APT_CONFIG=$apt/conf
    say "looking for Linux $version in Debian's releases"
    apt-get update -qq >&2 || die "apt-get update failed (no network?)"
    package=$(apt-cache pkgnames linux-image-"$version" |
        grep -E "^linux-image-${version//./\\.}([.+-][0-9a-z.+-]*)?-amd64$" |
        grep -vE 'rt-amd64|cloud' | sort -V | tail -n 1) ||
        die "Debian's releases have no kernel $version"
    # From 7.0 on the kernel, its modules and their lists are packages of their own.
    local packages=("$package")
    mapfile -t -O 1 packages < <(apt-cache depends --important "$package" |
        sed -nE 's/^ *(Pre)?Depends: (linux-(binary|modules|base)-.*)/\2/p')
    say "downloading ${packages[*]}"
    (cd "$folder.part" && apt-get download -qq "${packages[@]}") >&2 ||
        die "apt-get download failed"
    rm -rf "$folder"
    mv "$folder.part" "$folder"
    unset APT_CONFIG
}

kernel_sources() {
    local own main security suite
    own=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null || true)
    main=$(grep -vE '^ *#' <<<"$own" | grep -oE 'https?://[^ ]*/debian/?( |$)' | head -n 1 || true)
    security=$(grep -vE '^ *#' <<<"$own" | grep -oE 'https?://[^ ]*/debian-security/?( |$)' |
        head -n 1 || true)
    for suite in "${kernel_suites[@]}"; do
        local archive=${main:-http://deb.debian.org/debian}
        [[ $suite != *-security ]] ||
            archive=${security:-http://security.debian.org/debian-security}
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main"
    done
}
