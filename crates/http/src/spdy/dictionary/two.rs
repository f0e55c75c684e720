//! The dictionary of SPDY/2 (draft 2, "Name/value header block format"). It ends in NUL, as the array of C did that all
//! implementations copied.

pub(super) const TWO: &[u8] = b"\
    optionsgetheadpostputdeletetraceacceptaccept-charsetaccept-encodingaccept-languageauthorizatione\
    xpectfromhostif-modified-sinceif-matchif-none-matchif-rangeif-unmodifiedsincemax-forwardsproxy-a\
    uthorizationrangerefererteuser-agent100101200201202203204205206300301302303304305306307400401402\
    403404405406407408409410411412413414415416417500501502503504505accept-rangesageetaglocationproxy\
    -authenticatepublicretry-afterservervarywarningwww-authenticateallowcontent-basecontent-encoding\
    cache-controlconnectiondatetrailertransfer-encodingupgradeviawarningcontent-languagecontent-leng\
    thcontent-locationcontent-md5content-rangecontent-typeetagexpireslast-modifiedset-cookieMondayTu\
    esdayWednesdayThursdayFridaySaturdaySundayJanFebMarAprMayJunJulAugSepOctNovDecchunkedtext/htmlim\
    age/pngimage/jpgimage/gifapplication/xmlapplication/xhtmltext/plainpublicmax-agecharset=iso-8859\
    -1utf-8gzipdeflateHTTP/1.1statusversionurl\0";
